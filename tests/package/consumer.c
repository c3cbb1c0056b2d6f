/* A program that has only the installed library: one task, from C. */
#include <dovetail/dovetail.h>
#include <stdio.h>

static int32_t add(void* argument) {
  const int32_t* numbers = argument;
  return numbers[0] + numbers[1];
}

int main(void) {
  int32_t numbers[2] = {40, 2};
  dovetail_runtime* runtime = NULL;
  dovetail_future* future = NULL;
  dovetail_task_description description = {.size = sizeof description,
                                           .fallible_body = add,
                                           .argument = numbers,
                                           .argument_size = sizeof numbers,
                                           .label = "add"};
  int32_t sum = dovetail_runtime_create(NULL, &runtime);
  if (sum == 0) {
    sum = dovetail_runtime_spawn(runtime, &description, &future);
  }
  if (sum == 0) {
    sum = dovetail_future_get(future);
  }
  if (sum < 0) {
    fprintf(stderr, "%s\n", dovetail_error_message());
  }
  dovetail_future_release(future);
  dovetail_runtime_destroy(runtime);
  printf("sum %d\n", (int)sum);
  return sum == 42 ? 0 : 1;
}
