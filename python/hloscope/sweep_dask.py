"""hloscope sweep run PLAN --backend dask: batches of tasks as futures of Dask."""

from __future__ import annotations

import os
import sys

import distributed

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sweep_batches  # noqa: E402


def main() -> int:
    args = sweep_batches.arguments(__doc__ or "")
    if args.address:
        cluster, client = None, distributed.Client(args.address)
    else:
        cluster = distributed.LocalCluster(threads_per_worker=1, dashboard_address=None)
        client = distributed.Client(cluster)
    slots = max(1, sum(client.nthreads().values()) // args.jobs)
    client.upload_file(sweep_batches.__file__)
    failures = []
    # A worker of Dask that dies is replaced, and its batch run again (retries).
    futures = [
        client.submit(
            sweep_batches.run, args.hloscope, args.plan, args.jobs, batch, retries=3, pure=False
        )
        for batch in sweep_batches.batches(sweep_batches.left(args.hloscope, args.plan), slots)
    ]
    for future in distributed.as_completed(futures):
        error = future.exception()
        said = str(error).splitlines()[0] if error else future.result()
        if said:
            failures.append(said)
    for said in sorted(set(failures)):
        print(said, file=sys.stderr)
    client.close()
    if cluster:
        cluster.close()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
