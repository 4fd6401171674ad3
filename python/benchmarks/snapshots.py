"""A snapshot of a memory of a million cells, beside `sha256sum` over the same bytes in the same run: `python python/benchmarks/snapshots.py`.

The corpus is that of memory.py. Hashing is the median of five, taken in turn; whole commands, which check more than hashes, are measured once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from measure import calls, processes
from memory import BATCH, CELLS, WHO, cells

from governed_memory.host.keys import Keys, read_keys
from governed_memory.memory import MemoryStore
from governed_memory.memory.store import utc_now
from governed_memory.sealed import folder_of, seal, verified
from governed_memory.snapshots import KIND, Sources, take
from governed_memory.snapshots.memory_log import put_log

SECTION = {"active": "k", "k": {"algorithm": "ed25519", "file": "k.pem"}}
GMEM = [sys.executable, "-m", "governed_memory.cli", "snapshot"]


def host_keys(folder: Path) -> Keys:
    encoding = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "k.pem").write_bytes(Ed25519PrivateKey.generate().private_bytes(*encoding))
    (folder / "host.yml").write_text(json.dumps({"keys": SECTION}), encoding="utf-8")
    return read_keys(str(folder / "host.yml"), SECTION)


def remembered(folder: Path, keys: Keys) -> Path:
    corpus = cells(CELLS)
    with MemoryStore(folder / "memory", keys=keys) as store:
        for start in range(0, len(corpus), BATCH):
            store.write(corpus[start : start + BATCH], **WHO)
    return folder / "memory"


def main() -> None:
    with tempfile.TemporaryDirectory(dir=os.environ.get("GMEM_BENCH_FOLDER")) as place:
        folder = Path(place)
        keys = host_keys(folder)
        memory, root = remembered(folder, keys), folder / "snapshots"
        _, manifest = take(root, Sources(memory=memory), keys, utc_now())
        sealed = folder_of(root, 1)
        files = [str(sealed / file.name) for file in manifest.files]

        def sealing() -> None:
            seal(folder / "again", KIND, lambda part: {"writers": len(put_log(part, memory / "log", None))}, keys)

        # In turn, so that whatever else the machine does meets all of them alike.
        peer = "sha256sum of the same files"
        bare = calls(
            {
                peer: lambda: subprocess.run(["sha256sum", *files], check=True, stdout=subprocess.DEVNULL),
                "hashing by verify": lambda: verified(sealed, KIND, keys),
                "copying, hashing and syncing by take": sealing,
            }
        )
        host = ["--host", str(folder / "host.yml")]
        whole = processes(
            {
                "gmem snapshot verify": [*GMEM, "verify", str(root), "--generation", "1", *host],
                "gmem snapshot take": [*GMEM, "take", "--out", str(root), "--memory", str(memory), *host],
            },
            runs=1,
        )
        size = manifest.byte_count / 1e6
        print(f"{CELLS:,} cells, {size:,.0f} MB in {len(files)} files")
        for name, figure in bare.items():
            share = "" if name == peer else f"{bare[peer].seconds / figure.seconds:.2f} of the speed of sha256sum (bar 0.5)"
            print(f"{name:40} {figure.seconds:7.2f} s  {size / figure.seconds:7,.0f} MB/s  {share}")
        for name, figure in whole.items():
            print(f"{name:40} {figure.seconds:7.2f} s  once, with chains and what names what, {figure.peak_mib:,.0f} MiB")


if __name__ == "__main__":
    main()
