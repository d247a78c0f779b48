"""An owned process tree on Windows: a job object, which the system ends as a whole.

The program is started suspended, put into the job and only then let run, so that nothing it starts can be
outside. The job dies with the last handle to it: when its owner is gone, however it went, the tree is too,
and no guard is needed. Windows has no SIGTERM; a request to end is a Ctrl-Break, which reaches programs
that share our console and is nothing to the others.

Programs installed by npm and the like are `.cmd` files. Only `cmd.exe` can run those, and it reads its
command line by rules of its own, so `command_line` quotes for it and refuses what cannot be quoted safely.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence

from dragoman.errors import SpawnFailed

BATCH_FILES = (".cmd", ".bat")

UNQUOTABLE = '"%\r\n\0'
"""Characters that `cmd.exe` interprets even between quotes: an argument with one of these could become a
command.
"""


def command_line(command: Sequence[str], *, env: Mapping[str, str] | None = None) -> str:
    """Return the command line that starts `command`; its program is looked up on the PATH of `env`."""
    path = None if env is None else next((env[name] for name in env if name.upper() == "PATH"), None)
    program = shutil.which(command[0], path=path) or command[0]
    if not program.lower().endswith(BATCH_FILES):
        return subprocess.list2cmdline([program, *command[1:]])
    words = " ".join(_quote(word) for word in [program, *command[1:]])
    shell = (env or os.environ).get("COMSPEC", "cmd.exe")
    # /d: no commands from the registry; /s: exactly the outer quotes are removed.
    return f'{subprocess.list2cmdline([shell])} /d /s /c "{words}"'


def _quote(word: str) -> str:
    if bad := sorted(set(word) & set(UNQUOTABLE)):
        raise SpawnFailed(
            f"cannot start a .cmd or .bat file with {bad} in the argument {word!r}: cmd.exe interprets that; "
            "start the program behind that file directly"
        )
    # The file hands its arguments on to a program, for which a backslash before a quote escapes it.
    trailing = len(word) - len(word.rstrip("\\"))
    return f'"{word}{chr(92) * trailing}"'


if sys.platform == "win32":
    import ctypes
    import signal
    from collections.abc import Callable
    from contextlib import suppress
    from ctypes import wintypes

    from dragoman.transport.contract import Grace
    from dragoman.transport.owned_tree import OwnedTree, Program
    from dragoman.transport.tree import Process

    CREATE_SUSPENDED = 0x4
    EXTENDED_LIMITS = 9
    BASIC_PROCESS_IDS = 3
    KILL_ON_JOB_CLOSE = 0x2000
    LISTED = 1024

    class _BasicLimits(ctypes.Structure):
        _fields_ = (
            ("PerProcessUserTimeLimit", wintypes.LARGE_INTEGER),
            ("PerJobUserTimeLimit", wintypes.LARGE_INTEGER),
            ("LimitFlags", wintypes.DWORD),
            ("MinimumWorkingSetSize", ctypes.c_size_t),
            ("MaximumWorkingSetSize", ctypes.c_size_t),
            ("ActiveProcessLimit", wintypes.DWORD),
            ("Affinity", ctypes.c_size_t),
            ("PriorityClass", wintypes.DWORD),
            ("SchedulingClass", wintypes.DWORD),
        )

    class _ExtendedLimits(ctypes.Structure):
        _fields_ = (
            ("BasicLimitInformation", _BasicLimits),
            ("IoInfo", ctypes.c_ulonglong * 6),
            ("ProcessMemoryLimit", ctypes.c_size_t),
            ("JobMemoryLimit", ctypes.c_size_t),
            ("PeakProcessMemoryUsed", ctypes.c_size_t),
            ("PeakJobMemoryUsed", ctypes.c_size_t),
        )

    class _ProcessIds(ctypes.Structure):
        _fields_ = (
            ("NumberOfAssignedProcesses", wintypes.DWORD),
            ("NumberOfProcessIdsInList", wintypes.DWORD),
            ("ProcessIdList", ctypes.c_size_t * LISTED),
        )

    _kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    _kernel.CreateJobObjectW.restype = wintypes.HANDLE
    _kernel.CreateJobObjectW.argtypes = (ctypes.c_void_p, wintypes.LPCWSTR)
    _kernel.SetInformationJobObject.argtypes = (
        wintypes.HANDLE,
        ctypes.c_int,
        ctypes.c_void_p,
        wintypes.DWORD,
    )
    _kernel.QueryInformationJobObject.argtypes = (
        wintypes.HANDLE,
        ctypes.c_int,
        ctypes.c_void_p,
        wintypes.DWORD,
        ctypes.c_void_p,
    )
    _kernel.AssignProcessToJobObject.argtypes = (wintypes.HANDLE, wintypes.HANDLE)
    _kernel.TerminateJobObject.argtypes = (wintypes.HANDLE, wintypes.UINT)
    _kernel.CloseHandle.argtypes = (wintypes.HANDLE,)
    _nt = ctypes.WinDLL("ntdll")
    _nt.NtResumeProcess.argtypes = (wintypes.HANDLE,)

    class JobObject:
        """A job object that ends its processes when its handle is closed."""

        def __init__(self) -> None:
            self._handle = _kernel.CreateJobObjectW(None, None)
            limits = _ExtendedLimits()
            limits.BasicLimitInformation.LimitFlags = KILL_ON_JOB_CLOSE
            size = ctypes.sizeof(limits)
            if not self._handle or not _kernel.SetInformationJobObject(
                self._handle, EXTENDED_LIMITS, ctypes.byref(limits), size
            ):
                raise ctypes.WinError(ctypes.get_last_error())

        def take(self, process: int) -> None:
            """Put a suspended process into the job and let it run."""
            if not _kernel.AssignProcessToJobObject(self._handle, process):
                raise ctypes.WinError(ctypes.get_last_error())
            _nt.NtResumeProcess(process)

        def pids(self) -> list[int]:
            ids = _ProcessIds()
            size = ctypes.sizeof(ids)
            if self._handle:
                _kernel.QueryInformationJobObject(
                    self._handle, BASIC_PROCESS_IDS, ctypes.byref(ids), size, None
                )
            return list(ids.ProcessIdList[: ids.NumberOfProcessIdsInList])

        def end(self) -> None:
            if self._handle:
                _kernel.TerminateJobObject(self._handle, 1)

        def close(self) -> None:
            if self._handle:
                _kernel.CloseHandle(self._handle)
                self._handle = None

    class WindowsTree(OwnedTree):
        """A tree with all processes of its job."""

        def __init__(self, program: Program, *, grace: Grace, on_exit: Callable[[], None]) -> None:
            self._job = JobObject()
            try:
                self._program = self._start(program)
            except BaseException:
                self._job.close()
                raise
            super().__init__(program.command, pid=self._program.pid, grace=grace, on_exit=on_exit)
            self._wait_in_thread(self._program.wait, self._note_exit)

        def _start(self, program: Program) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(
                command_line(program.command, env=program.env),
                stdin=program.files[0],
                stdout=program.files[1],
                stderr=program.files[2],
                cwd=program.cwd,
                env=None if program.env is None else dict(program.env),
                creationflags=CREATE_SUSPENDED
                | subprocess.CREATE_NEW_PROCESS_GROUP
                | subprocess.CREATE_NO_WINDOW,
            )
            try:
                self._job.take(int(process._handle))  # type: ignore[attr-defined]  # Popen has no public name for it
            except BaseException:
                process.kill()
                raise
            return process

        def processes(self) -> list[Process]:
            return [Process(pid, 0, self.pid, 0, 0, False) for pid in self._job.pids()]

        def terminate(self) -> None:
            with suppress(OSError):  # no console in common: then only the end of its input can ask
                self._program.send_signal(signal.CTRL_BREAK_EVENT)

        def kill(self) -> None:
            self._job.end()

        def kill_now(self) -> None:
            if not self.is_gone:
                self._job.end()
                self._program.wait()
                self._note_exit()

        def _note_exit(self) -> None:
            if not self.has_exited:
                self.has_exited = True
                self.returncode = self._program.returncode
                self._job.end()  # what the program left running
                self._bury()
                self._on_exit()

        def _bury(self) -> None:
            self._job.close()
            super()._bury()
