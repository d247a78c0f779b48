"""Runs a program for which names lead elsewhere: `named.py HOSTS PROGRAM [ARGUMENT …]`.

`HOSTS` lies over `/etc/hosts`, in a mount namespace of its own; a user other than root gets it in a user
namespace. It belongs to the tests: nothing of ours takes names from anywhere but the system.
"""

import ctypes
import os
import sys

libc = ctypes.CDLL(None, use_errno=True)


def check(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


if __name__ == "__main__":
    user, group = os.getuid(), os.getgid()
    check(libc.unshare(0x20000 | (0x10000000 if user else 0)))
    if user:
        write("/proc/self/setgroups", "deny")
        write("/proc/self/gid_map", f"{group} {group} 1")
        write("/proc/self/uid_map", f"{user} {user} 1")
    check(libc.mount(b"none", b"/", None, 0x4000 | 1 << 18, None))
    check(libc.mount(sys.argv[1].encode(), b"/etc/hosts", None, 0x1000, None))
    os.execvp(sys.argv[2], sys.argv[2:])
