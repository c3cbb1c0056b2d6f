// A Go program as it is: linked statically, it asks the kernel itself, and its goroutines move from thread to thread.
// goroutines FILE [WHAT...]: reads at the file's start, then does what it is told, and writes to standard output all that it has read:
//
//	a number   reads there, in a goroutine and a thread of its own
//	cached N   waits until the page at N is in memory, and reads nothing itself
//	copy       copies the file from where the last copy has ended
package main

import (
	"io"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

const bytesRead = 16

func check(err error) {
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
}

func readAt(file *os.File, at int64) {
	text := make(chan []byte)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		part := make([]byte, bytesRead)
		_, err := file.ReadAt(part, at)
		check(err)
		text <- part
	}()
	_, err := os.Stdout.Write(<-text)
	check(err)
}

func comesByItself(file *os.File, at int64) {
	memory, err := syscall.Mmap(int(file.Fd()), at, os.Getpagesize(), syscall.PROT_READ, syscall.MAP_SHARED)
	check(err)
	for state := byte(0); state&1 == 0; {
		_, _, number := syscall.Syscall(syscall.SYS_MINCORE, uintptr(unsafe.Pointer(&memory[0])), uintptr(len(memory)), uintptr(unsafe.Pointer(&state)))
		if number != 0 {
			check(number)
		}
	}
	check(syscall.Munmap(memory))
}

func number(word string) int64 {
	at, err := strconv.ParseInt(word, 10, 64)
	check(err)
	return at
}

func main() {
	file, err := os.Open(os.Args[1])
	check(err)
	readAt(file, 0)
	for words := os.Args[2:]; len(words) > 0; words = words[1:] {
		switch words[0] {
		case "cached":
			words = words[1:]
			comesByItself(file, number(words[0]))
		case "copy":
			_, err := io.Copy(os.Stdout, file)
			check(err)
		default:
			readAt(file, number(words[0]))
		}
	}
}
