"""Runs a Python reward: frames of JSON on file descriptor 3 (requests) and 4 (answers).

A frame is its length, 4 bytes little endian, and so many bytes of UTF-8. argv: own folder, bytes of memory, folders
that may be read besides Python's own (separated by os.pathsep).

On Linux the process gives up what a reward has no need of, before it reads any code: files other than Python's own
and its folder (Landlock), the network, other processes and their memory (seccomp). `ready` tells what a trial proved.
"""

import ctypes
import inspect
import json
import math
import numbers
import os
import platform
import random
import struct
import sys
import time
import traceback
import types

REQUESTS, ANSWERS = 3, 4
LARGEST = 3.4028234663852886e38
FOLDER, MEMORY, READABLE = sys.argv[1], int(sys.argv[2]), [p for p in sys.argv[3].split(os.pathsep) if p]


def read(size):
    data = b""
    while len(data) < size:
        more = os.read(REQUESTS, size - len(data))
        if not more:
            os._exit(0)
        data += more
    return data


def receive():
    return json.loads(read(struct.unpack("<I", read(4))[0]))


def send(**message):
    data = json.dumps(message).encode()
    data = struct.pack("<I", len(data)) + data
    while data:
        data = data[os.write(ANSWERS, data) :]


# --- what the process gives up ---------------------------------------------------------------------------------------

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SIGKILL = 1, 38, 22, 9

# number by system call: refused always
REFUSED = {
    "x86_64": dict(
        socket=41, connect=42, bind=49, listen=50, kill=62, tkill=200, rt_sigqueueinfo=129, rt_tgsigqueueinfo=297,
        pidfd_open=434, pidfd_send_signal=424, pidfd_getfd=438, ptrace=101, process_vm_readv=310,
        process_vm_writev=311, fork=57, vfork=58, execve=59, execveat=322, mount=165, umount2=166, pivot_root=155,
        chroot=161, unshare=272, setns=308, bpf=321, userfaultfd=323, perf_event_open=298, add_key=248,
        request_key=249, keyctl=250, io_uring_setup=425, open_by_handle_at=304, fsopen=430, fsmount=432,
        move_mount=429, open_tree=428, init_module=175, finit_module=313, chmod=90, fchmod=91, fchmodat=268,
        fchmodat2=452, chown=92, fchown=93, lchown=94, fchownat=260, setxattr=188, lsetxattr=189, fsetxattr=190,
        removexattr=197, lremovexattr=198, fremovexattr=199, utime=132, utimes=235, futimesat=261, utimensat=280,
        setpriority=141, sched_setaffinity=203, ioprio_set=251,
    ),
    "aarch64": dict(
        socket=198, connect=203, bind=200, listen=201, kill=129, tkill=130, rt_sigqueueinfo=138,
        rt_tgsigqueueinfo=240, pidfd_open=434, pidfd_send_signal=424, pidfd_getfd=438, ptrace=117,
        process_vm_readv=270, process_vm_writev=271, execve=221, execveat=281, mount=40, umount2=39, pivot_root=41,
        chroot=51, unshare=97, setns=268, bpf=280, userfaultfd=282, perf_event_open=241, add_key=217,
        request_key=218, keyctl=219, io_uring_setup=425, open_by_handle_at=265, fsopen=430, fsmount=432,
        move_mount=429, open_tree=428, init_module=105, finit_module=273, fchmod=52, fchmodat=53, fchmodat2=452,
        fchown=55, fchownat=54, setxattr=5, lsetxattr=6, fsetxattr=7, removexattr=14, lremovexattr=15,
        fremovexattr=16, utimensat=88, setpriority=140, sched_setaffinity=122, ioprio_set=30,
    ),
}  # fmt: skip
# audit architecture, clone, clone3, tgkill, prlimit64
ARCHITECTURES = {"x86_64": (0xC000003E, 56, 435, 234, 302), "aarch64": (0xC00000B7, 220, 435, 131, 261)}


def refuse_calls(libc, machine):
    """A seccomp filter: no network, no processes but threads, no signals and no reach into others."""
    architecture, clone, clone3, tgkill, prlimit = ARCHITECTURES[machine]
    load, equal, above, some, back = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, eperm, enosys = 0x7FFF0000, 0x00050001, 0x00050026
    program = [(load, 0, 0, 4), (equal, 1, 0, architecture), (back, 0, 0, eperm), (load, 0, 0, 0)]
    # the 32-bit-pointer calls of x86_64 have numbers of their own
    program += [(above, 0, 1, 0x40000000), (back, 0, 0, eperm)]
    for number in REFUSED[machine].values():
        program += [(equal, 0, 1, number), (back, 0, 0, eperm)]
    # glibc makes a thread with `clone` where there is no `clone3`, whose flags a filter cannot read
    program += [(equal, 0, 1, clone3), (back, 0, 0, enosys)]
    clone_thread = 0x00010000
    program += [(equal, 0, 4, clone), (load, 0, 0, 16), (some, 1, 0, clone_thread), (back, 0, 0, eperm), (back, 0, 0, allow)]
    program += [(equal, 0, 4, tgkill), (load, 0, 0, 16), (equal, 1, 0, os.getpid()), (back, 0, 0, eperm), (back, 0, 0, allow)]
    program += [(equal, 0, 4, prlimit), (load, 0, 0, 16), (equal, 1, 0, 0), (back, 0, 0, eperm), (back, 0, 0, allow)]
    program += [(back, 0, 0, allow)]
    code = b"".join(struct.pack("<HBBI", *step) for step in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    filter_ = ctypes.create_string_buffer(struct.pack("<H6xQ", len(program), ctypes.addressof(buffer)))
    if libc.prctl(PR_SET_SECCOMP, 2, filter_, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
READ = 1 << 0 | 1 << 2 | 1 << 3  # execute, read a file, read a folder


def hide_files(libc):
    """Landlock: Python's own files can be read, the own folder written, nothing else."""
    version = libc.syscall(CREATE_RULESET, None, 0, 1)
    if version < 3:
        raise OSError(0, "this kernel's Landlock is missing or too old")
    every = (1 << (16 if version >= 5 else 15)) - 1
    scoped = 3 if version >= 6 else 0
    network = 3 if version >= 4 else 0
    attributes = struct.pack("<QQQ", every, network, scoped)[: 24 if version >= 6 else 16 if version >= 4 else 8]
    ruleset = libc.syscall(CREATE_RULESET, ctypes.create_string_buffer(attributes, len(attributes)), len(attributes), 0)
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), "landlock")
    own = {sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path, os.path.dirname(os.path.abspath(__file__))}
    system = ["/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/etc/ssl", "/etc/python3"]
    devices = ["/dev/null", "/dev/zero", "/dev/urandom", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu"]
    for path in [*own, *READABLE, *system, *devices]:
        if path and path != "/":
            allow_path(libc, ruleset, path, READ | (1 << 1 if path == "/dev/null" else 0))
    # not: making devices, sockets and pipes
    allow_path(libc, ruleset, FOLDER, every & ~(1 << 6 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 15))
    if libc.syscall(RESTRICT_SELF, ruleset, 0) != 0:
        raise OSError(ctypes.get_errno(), "landlock")
    os.close(ruleset)


def allow_path(libc, ruleset, path, access):
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not os.path.isdir(path):
        access &= 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14
    rule = ctypes.create_string_buffer(struct.pack("<Qi", access, descriptor), 12)
    libc.syscall(ADD_RULE, ruleset, 1, rule, 0)
    os.close(descriptor)


def limit():
    import resource

    # the stack of a crash is of no use to anyone; files that fill a disk are
    wanted = [(resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 64 << 20), (resource.RLIMIT_NOFILE, 256)]
    for kind, value in wanted:
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        try:
            resource.setrlimit(kind, (value, value))
        except (ValueError, OSError):
            if kind != resource.RLIMIT_AS:  # macOS has none
                raise


def confine():
    """Gives up all it can. Returns what is proven to be closed, and why something is not."""
    reasons = []
    try:
        limit()
    except Exception as error:
        reasons.append(f"no limits: {error}")
    machine = platform.machine()
    if not sys.platform.startswith("linux") or machine not in ARCHITECTURES:
        return tried(), [*reasons, "this system has no confinement for Python here"]
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.syscall.restype = ctypes.c_long
        libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
        if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "no_new_privs")
        for close in (lambda: hide_files(libc), lambda: refuse_calls(libc, machine)):
            try:
                close()
            except Exception as error:
                reasons.append(str(error))
    except Exception as error:
        reasons.append(str(error))
    return tried(), reasons


def tried():
    """Each is tried: what is refused is closed."""
    import socket

    outside = os.path.join(os.path.dirname(FOLDER), f"trial-{os.getpid()}")

    def write():
        with open(outside, "w"):
            pass
        os.unlink(outside)

    def process():
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

    trials = {
        "network": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close(),
        "files": lambda: os.listdir(os.path.dirname(FOLDER)),
        "writing": write,
        "processes": process,
    }
    closed = []
    for name, trial in trials.items():
        try:
            trial()
        except OSError:
            closed.append(name)
        except Exception:
            pass
    return closed


# --- the reward ------------------------------------------------------------------------------------------------------


class Mistake(Exception):
    def __init__(self, message, line=None):
        super().__init__(message)
        self.line = line


def place(error):
    """Line of the innermost frame in the user's code."""
    if isinstance(error, SyntaxError):
        return error.lineno
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "reward.py"]
    return lines[-1] if lines else None


def words(error):
    if isinstance(error, MemoryError):
        return f"out of memory: a reward may use {MEMORY >> 20} MB"
    if isinstance(error, SyntaxError):
        return str(error.msg)
    return f"{type(error).__name__}: {error}"[:500]


NAMES = ("reward", "reward_fn", "reward_func", "reward_function")
RECORD = ("prompt", "completion", "answer", "messages", "row", "tokens")


class Reward:
    def __init__(self, code):
        module = types.ModuleType("reward")
        module.__file__ = "reward.py"
        sys.modules["reward"] = module
        try:
            exec(compile(code, "reward.py", "exec"), module.__dict__)
        except BaseException as error:
            raise Mistake(words(error), place(error)) from None
        self.call = self.find(module)
        try:
            parameters = inspect.signature(self.call).parameters.values()
        except (TypeError, ValueError) as error:
            raise Mistake(f"its parameters cannot be read: {error}") from None
        if inspect.iscoroutinefunction(self.call):
            raise Mistake("a reward answers at once: leave out async and await")
        self.any = any(p.kind is p.VAR_KEYWORD for p in parameters)
        self.names = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        self.batch = "completions" in self.names
        self.record = not self.batch and "completion" not in self.names and not self.any
        if self.record and len(self.names) != 1:
            wanted = "completions (TRL), completion, or one record"
            raise Mistake(f"the function must take {wanted}; it takes {', '.join(self.names) or 'nothing'}")

    @staticmethod
    def find(module):
        named = [getattr(module, name) for name in NAMES if callable(getattr(module, name, None))]
        own = [f for f in vars(module).values() if inspect.isfunction(f) and f.__module__ == "reward"]
        public = [f for f in own if not f.__name__.startswith("_")]
        if named:
            return named[0]
        if len(public) == 1:
            return public[0]
        raise Mistake('there is no "def reward(completions, **columns)"')

    def columns(self, samples):
        """Keyword arguments as TRL gives them: lists, one entry a sample; text, or messages where the data has them."""
        talks = [isinstance(s["row"].get("prompt"), list) or isinstance(s["row"].get("messages"), list) for s in samples]
        answers = [[{"role": "assistant", "content": s["completion"]}] if t else s["completion"] for s, t in zip(samples, talks)]
        prompts = [(s["messages"] or [])[:-1] if t else s["prompt"] for s, t in zip(samples, talks)]
        given = {key: [s["row"].get(key) for s in samples] for s in samples for key in s["row"]}
        given.setdefault("answer", [s["answer"] for s in samples])
        given.update(prompts=prompts, completions=answers, completion_ids=[s["tokens"] for s in samples])
        given.update(trainer_state=None)
        if self.any:
            return {key: value for key, value in given.items() if key.isidentifier()}
        return {name: given[name] for name in self.names if name in given}

    def one(self, sample):
        if self.batch:
            raise AssertionError
        if self.record:
            known = {**{name: sample[name] for name in RECORD}, "source_record": sample["row"], "final_answer": sample["completion"]}
            return self.call(types.SimpleNamespace(**known))
        given = {**sample["row"], **{name: sample[name] for name in RECORD}}
        return self.call(**({k: v for k, v in given.items() if k.isidentifier()} if self.any else {n: given[n] for n in self.names if n in given}))


def outcome(value):
    if value is None:
        return dict(status="abstain")
    kind = type(value)
    if isinstance(value, (bool, numbers.Real)) or kind.__name__ in ("bool_", "bool"):
        number = float(value)
        if math.isfinite(number) and abs(number) <= LARGEST:
            return dict(status="ok", value=number)
        beyond = ", beyond ±3.4e+38" if math.isfinite(number) else ""
        return dict(status="nonfinite", message=f"the reward is {number}{beyond}")
    return dict(status="wrong_type", message=f"a reward is a number, True, False or None, this is of type {kind.__name__}")


def failure(error):
    # a reward that ends the interpreter has ended its own call
    return dict(status="error", message=words(error), line=place(error))


def seed(*keys):
    random.seed(hash(keys))
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(abs(hash(keys)) % 2**32)


def score(reward, samples, keys, indices):
    if reward.batch:
        started = time.perf_counter()
        seed(*keys, indices[0] if indices else 0)
        try:
            answers = reward.call(**reward.columns(samples))
            if not isinstance(answers, (list, tuple)) and hasattr(answers, "tolist"):
                answers = answers.tolist()
            if not isinstance(answers, (list, tuple)):
                raise Mistake(f"it answers with a list, this is of type {type(answers).__name__}")
            if len(answers) != len(samples):
                raise Mistake(f"{len(answers)} rewards for {len(samples)} samples")
            results = [outcome(answer) for answer in answers]
        except Mistake as error:
            results = [dict(status="error", message=str(error))] * len(samples)
        except BaseException as error:
            results = [failure(error)] * len(samples)
        each = (time.perf_counter() - started) * 1000 / max(1, len(samples))
        for result in results:
            send(kind="sample", milliseconds=each, **result)
        return
    for sample, index in zip(samples, indices):
        started = time.perf_counter()
        seed(*keys, index)
        try:
            result = outcome(reward.one(sample))
        except BaseException as error:
            result = failure(error)
        send(kind="sample", milliseconds=(time.perf_counter() - started) * 1000, **result)


def main():
    os.chdir(FOLDER)
    os.environ.clear()
    os.environ.update(HOME=FOLDER, TMPDIR=FOLDER, TZ="UTC", OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1")
    closed, reasons = confine()
    send(kind="ready", version=platform.python_version(), closed=closed, reasons=reasons)
    reward = None
    while True:
        request = receive()
        if request["kind"] == "load":
            try:
                reward = Reward(request["code"])
                send(kind="loaded", batch=reward.batch)
            except Mistake as mistake:
                send(kind="loaded", message=str(mistake), line=mistake.line)
        else:
            score(reward, request["samples"], (request["seed"], request["step"]), request["indices"])
            send(kind="done")


main()
