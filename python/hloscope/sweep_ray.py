"""hloscope sweep run PLAN --backend ray: batches of tasks as remote functions of Ray."""

from __future__ import annotations

import os
import sys

import ray

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sweep_batches  # noqa: E402


def main() -> int:
    args = sweep_batches.arguments(__doc__ or "")
    ray.init(
        address=args.address, log_to_driver=False, logging_level="ERROR", include_dashboard=False
    )
    slots = max(1, int(ray.cluster_resources().get("CPU", 1)) // args.jobs)
    batches = sweep_batches.batches(sweep_batches.left(args.hloscope, args.plan), slots)
    source = sweep_batches.__file__

    # A worker of Ray that dies (its node, the memory monitor) is replaced and the batch run again.
    @ray.remote(num_cpus=args.jobs, max_retries=3)
    def do(numbers: list[int]) -> str:
        import importlib.util

        spec = importlib.util.spec_from_file_location("sweep_batches", source)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.run(args.hloscope, args.plan, args.jobs, numbers)

    waiting = [do.remote(batch) for batch in batches]
    failures = []
    while waiting:
        ready, waiting = ray.wait(waiting)
        for one in ready:
            try:
                said = ray.get(one)
            except ray.exceptions.RayError as error:  # what is left is given by `sweep show`
                said = str(error).splitlines()[0]
            if said:
                failures.append(said)
    for said in sorted(set(failures)):
        print(said, file=sys.stderr)
    ray.shutdown()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
