# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""A machine under QEMU that runs one command: a kernel of the cache over this machine's files."""
import ctypes, pathlib, shlex, shutil, signal, subprocess, time

from kernels import HERE, LabError

MEMORY = 2048
# What the guest may take beside its command, and until it is up: under emulation, on a busy machine.
AROUND = 90
BOOT = 120
# Nothing that would slow down a kernel under emulation; its time is the host's, also where it is starved while it boots and
# would measure its time stamp counter wrongly.
APPEND = ("console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off nokaslr audit=0 apparmor=0 net.ifnames=0 "
          "random.trust_cpu=on tsc=unstable clocksource=hpet no_timer_check nmi_watchdog=0 "
          "rcupdate.rcu_cpu_stall_suppress=1 cryptomgr.notests=1")
PR_SET_PDEATHSIG = 1


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Guest:
    """Runs a command as root in the guest; a context that always ends it.

    This machine's root is visible there, read-only with a tmpfs over it, and `folder` is /out. When the command has ended,
    `folder` has its output, its status, the console and the kernel's log.
    """

    def __init__(self, kernel, folder, command, seconds, kvm=False, slow=1.0):
        self.folder, self.kvm, self.boot = pathlib.Path(folder), kvm, BOOT * slow
        self.end, self.up = time.monotonic() + seconds + AROUND * slow, time.monotonic() + self.boot
        program = shutil.which("qemu-system-x86_64")
        if program is None:
            raise LabError("no 'qemu-system-x86_64': packaging/install-dependencies kernel installs it")
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        shutil.copy(HERE / "guest-init", self.folder / "init")
        (self.folder / "environment").write_text(
            f"MODULES={shlex.quote(str(kernel / 'root/lib/modules'))}\nALLOWED={seconds:.0f}\n"
            f"COMMAND=({shlex.join(str(word) for word in command)})\n")
        errors = open(self.folder / "qemu", "w")
        self.process = subprocess.Popen([program, *self.options(kernel)], stdin=subprocess.DEVNULL, stdout=errors,
                                        stderr=errors, start_new_session=True, preexec_fn=die_with_parent)

    def options(self, kernel):
        accelerator = ["-accel", "kvm"] if self.kvm else ["-accel", "tcg,thread=multi,tb-size=512"]
        return [
            "-M", "q35,usb=off", "-cpu", "max", *accelerator, "-smp", "2", "-m", str(MEMORY),
            "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-monitor", "none",
            "-serial", f"file:{self.folder}/console", "-kernel", f"{kernel}/vmlinux", "-initrd", f"{kernel}/initramfs",
            "-append", APPEND, "-object", "rng-random,id=rng,filename=/dev/urandom", "-device", "virtio-rng-pci,rng=rng",
            "-fsdev", "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap",
            "-device", "virtio-9p-pci,fsdev=host,mount_tag=host",
            "-fsdev", f"local,id=out,path={self.folder},security_model=none",
            "-device", "virtio-9p-pci,fsdev=out,mount_tag=out"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def lines(self, name):
        """Yields the lines of a file of the folder as the guest writes them, until it is off or its time is over."""
        path, position, rest = self.folder / name, 0, b""
        while True:
            running = self.process.poll() is None
            if path.exists():
                with open(path, "rb") as file:
                    file.seek(position)
                    rest += file.read()
                    position = file.tell()
                *lines, rest = rest.split(b"\n")
                yield from (line.decode() for line in lines)
            if not running:
                return
            if time.monotonic() > self.up and not (self.folder / "booted").exists():
                raise LabError(f"the guest does not boot within {self.boot:.0f} s: {self.last_words()}")
            if time.monotonic() > self.end:
                raise LabError(f"the guest does not end; its console: {self.folder}/console")
            time.sleep(0.2)

    def status(self):
        """The exit status of the command, once the guest is off."""
        try:
            return int((self.folder / "status").read_text())
        except (FileNotFoundError, ValueError):
            raise LabError(f"the guest ended without a result: {self.last_words()}") from None

    def last_words(self):
        said = [line for name in ("qemu", "console") if (self.folder / name).exists()
                for line in (self.folder / name).read_text(errors="replace").splitlines() if line.strip()]
        return said[-1] if said else "nothing on its console"
