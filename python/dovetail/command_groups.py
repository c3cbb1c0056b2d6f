"""The groups in which `dovetail --help` shows its sub-commands."""

WITH_TASKS = "Programs with tasks"
AS_THEY_ARE = "Programs as they are: reads ahead, writes by a fast tier"
MACHINE = "This machine and this installation"
