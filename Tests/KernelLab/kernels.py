# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Debian's kernels: downloaded, never installed, and made into what a guest boots quickly.

A folder of the cache has vmlinux (taken out of the compressed image here: that takes most of the boot under emulation), an
initramfs that mounts this machine's root, the modules, unpacked for the same reason, and the kernel's version.
"""
import lzma, os, pathlib, platform, re, shutil, subprocess, zlib

# By the name of a kernel: the release of Debian that has it.
SUITES = {"6.1": "bookworm", "6.12": "trixie", "newest": "sid"}
MIRROR = os.environ.get("DEBIAN_MIRROR", "http://deb.debian.org/debian")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
HERE = pathlib.Path(__file__).resolve().parent
# What the initramfs needs to mount this machine's root.
BOOT = ("virtio_pci", "9pnet_virtio", "9p", "overlay", "virtio-rng")
# Folders of modules that no scenario uses: most of the unpacking.
UNUSED = ("build", "source", "vmlinuz", "gpu", "sound", "media", "iio", "scsi", "infiniband", "hwmon", "input", "staging")


class LabError(Exception):
    """The lab itself cannot run: what is missing, in words."""


def run(*words, **options):
    """What a program prints; LabError with its last line if it fails."""
    done = subprocess.run(words, capture_output=True, **options)
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit status {done.returncode}"]
        raise LabError(f"{pathlib.Path(words[0]).name}: {next((line for line in lines if line.startswith('E: ')), lines[-1])}")
    return done.stdout


def prepared(name, cache, renew=False):
    """The folder of a kernel, made if it is missing or to be renewed."""
    folder = pathlib.Path(cache) / name
    if renew or not (folder / "version").exists():
        if platform.machine() != "x86_64":
            raise LabError(f"a guest uses this machine's programs, and the kernels are for x86_64, not {platform.machine()}")
        new = folder.with_name(f"{name}.new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        unpacked = download(SUITES[name], new / "package")
        build(unpacked, new)
        shutil.rmtree(new / "package")
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)
    return folder


# Packages

def download(suite, folder):
    """The newest kernel package of a release with what belongs to it, unpacked: the folder."""
    environment = os.environ | {"APT_CONFIG": str(configure(suite, folder)), "LC_ALL": "C"}
    run(HERE.parents[1] / "packaging/apt-get", "update", "-qq", "-o", "APT::Update::Error-Mode=any", env=environment)

    def depends(package):
        return re.findall(r"^ *Depends: (\S+)$", run("apt-cache", "depends", package, env=environment).decode(), re.MULTILINE)
    image = next((one for one in depends("linux-image-amd64") if one.startswith("linux-image-")), None)
    if image is None:
        raise LabError(f"Debian {suite} has no linux-image-amd64 at {MIRROR}")
    # Newer packages are in parts: linux-binary, linux-modules.
    parts = [one for one in depends(image) if re.match(r"linux-(binary|modules)-\d", one)]
    run("apt-get", "download", "-qq", image, *parts, env=environment, cwd=folder)
    for package in folder.glob("*.deb"):
        run("dpkg-deb", "-x", package, folder / "unpacked")
    return folder / "unpacked"


def configure(suite, folder):
    """A configuration of apt for one release, apart from this machine's: the file."""
    for inner in ("lists/partial", "cache/archives/partial"):
        (folder / inner).mkdir(parents=True)
    (folder / "sources.list").write_text(f"deb [arch=amd64 signed-by={KEYRING}] {MIRROR} {suite} main\n")
    (folder / "apt.conf").write_text(f'Dir::Etc::SourceList "{folder}/sources.list";\nDir::Etc::SourceParts "/dev/null";\n'
                                     f'Dir::State::Lists "{folder}/lists";\nDir::Cache "{folder}/cache";\n'
                                     'APT::Architecture "amd64";\nAcquire::Languages "none";\nAPT::Sandbox::User "";\n')
    return folder / "apt.conf"


# What is booted

def build(unpacked, folder):
    """Makes vmlinux, the modules and the initramfs out of an unpacked package."""
    source = next(path for path in (unpacked / "usr/lib/modules", unpacked / "lib/modules") if path.is_dir())
    version = next(path.name for path in source.iterdir() if (path / "kernel").is_dir())
    image = next(path for path in (unpacked / f"boot/vmlinuz-{version}", source / version / "vmlinuz") if path.exists())
    (folder / "vmlinux").write_bytes(uncompressed(image.read_bytes()))
    modules = folder / "root/lib/modules" / version
    shutil.copytree(source / version, modules, symlinks=True, ignore=shutil.ignore_patterns(*UNUSED))
    packed = [str(path) for path in modules.rglob("*.ko.xz")]
    for start in range(0, len(packed), 500):
        run("xz", "--decompress", "--threads=0", *packed[start:start + 500])
    run("depmod", "--basedir", folder / "root", version)
    (folder / "initramfs").write_bytes(initramfs(modules, folder / "tree"))
    shutil.rmtree(folder / "tree")
    (folder / "version").write_text(f"{version}\n")


def zstd(part):
    return subprocess.run(["zstd", "-dcq"], input=part, capture_output=True).stdout


def uncompressed(image):
    """The ELF file inside a compressed kernel."""
    for magic, unpack in ((b"\xfd7zXZ\0", lambda part: lzma.LZMADecompressor().decompress(part)), (b"\x28\xb5\x2f\xfd", zstd),
                          (b"\x1f\x8b\x08", lambda part: zlib.decompressobj(31).decompress(part))):
        start = image.find(magic)
        while start >= 0:
            try:
                found = unpack(image[start:])
            except (lzma.LZMAError, zlib.error):
                found = b""
            if found.startswith(b"\x7fELF"):
                return found
            start = image.find(magic, start + 1)
    raise LabError("the package's kernel is compressed in a way that is not known here")


def initramfs(modules, tree):
    """The archive: busybox, the modules of BOOT in the order of their dependencies, and the first program."""
    for inner in ("bin", "modules", "proc", "sys", "dev", "host", "overlay", "root"):
        (tree / inner).mkdir(parents=True)
    busybox = shutil.which("busybox")
    if busybox is None:
        raise LabError("no 'busybox': install busybox-static")
    shutil.copy(busybox, tree / "bin/busybox")
    shutil.copy(HERE / "initramfs-init", tree / "init")
    order = load_order((modules / "modules.dep").read_text())
    for path in order:
        shutil.copy(modules / path, tree / "modules")
    (tree / "modules/order").write_text("".join(f"{pathlib.Path(path).name}\n" for path in order))
    names = run("find", ".", cwd=tree)
    return run("busybox", "cpio", "-o", "-H", "newc", cwd=tree, input=names)


def load_order(dependencies):
    """The paths of BOOT and what they need, each after its own needs; modules.dep names the innermost last."""
    needs = dict(line.split(":", 1) for line in dependencies.splitlines())
    order = {}
    for wanted in BOOT:
        for path in needs:
            if pathlib.Path(path).name == f"{wanted}.ko":
                order |= dict.fromkeys([*reversed(needs[path].split()), path])
    return list(order)
