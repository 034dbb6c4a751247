#!/usr/bin/env python3
"""How far one dispatcher reaches: a sweep over 10 to 10,000 ranks as a discrete-event simulation.

    simulate.py [--record PLAN]... [--messages FILE] [--tasks N] [--output FILE.json] [--picture
    FILE.svg]

Task times are drawn from recorded ones (recorded.json beside this file; --record adds those of a
plan that ran). What a message costs rank 0 is recorded too: `hloscope sweep run PLAN --backend mpi
--format json` says messages and message_seconds.

The model: rank 0 handles one message after the other (message_s each); a message takes latency_s to
arrive; a rank does one task at a time, has as many tasks ahead as sweep_ranks.c gives it, and sends
one message a result. With two levels, sub-dispatchers of --group ranks each take batches from rank
0 and handle their ranks' messages; a batch is one message each way. Tasks go longest expected first
within what is known (the recorded times of a program are alike), which is drawn here as: durations
in falling order, shuffled within a factor of two.
"""

import argparse
import heapq
import json
import math
import pathlib
import random

HERE = pathlib.Path(__file__).resolve().parent
AHEAD_S, MOST_AHEAD = 0.05, 64  # of sweep_ranks.c
BATCH_S = 0.2


def draw(times: list[float], count: int, seed: int) -> list[float]:
    rng = random.Random(seed)
    tasks = [rng.choice(times) for _ in range(count)]
    return sorted(tasks, key=lambda t: -t * 2 ** rng.uniform(-0.5, 0.5))


def simulate(
    tasks: list[float], ranks: int, message_s: float, latency_s: float, group: int = 0
) -> dict:
    """Efficiency and rank 0's share of time at work. group 0: every rank talks to rank 0."""
    at = 0
    mean = sum(tasks) / len(tasks)
    events: list[tuple[float, int, int, int]] = []  # (time, tiebreak, what, who)
    RESULT, BATCH = 0, 1
    tie = 0
    servers = [0.0] * (1 + (-(-ranks // group) if group else 0))  # when each is free; 0 is rank 0
    busy = 0.0
    queue: list[list[float]] = [[] for _ in servers]  # of sub-dispatchers: tasks that wait there
    asked = [False] * len(servers)
    free_at = [0.0] * ranks  # when a rank has done what it has
    has = [0] * ranks
    finish = 0.0
    # a batch is BATCH_S of work for the group, so that little waits at one while another has none
    batch = max(1, min(4 * group, math.ceil(group * BATCH_S / mean))) if group else 0

    def serve(server: int, now: float) -> float:
        nonlocal busy
        start = max(now, servers[server])
        servers[server] = start + message_s
        if server == 0:
            busy += message_s
        return servers[server]

    def take(server: int) -> float | None:
        nonlocal at
        if server:
            return queue[server].pop(0) if queue[server] else None
        if at == len(tasks):
            return None
        at += 1
        return tasks[at - 1]

    def feed(server: int, rank: int, now: float) -> None:
        nonlocal tie, finish
        ahead = min(MOST_AHEAD, max(1, 1 + int(AHEAD_S / mean)))
        while has[rank] < ahead:
            task = take(server)
            if task is None:
                return
            has[rank] += 1
            start = max(free_at[rank], now + latency_s)
            free_at[rank] = start + task
            finish = max(finish, free_at[rank])
            tie += 1
            heapq.heappush(events, (free_at[rank] + latency_s, tie, RESULT, rank))

    def ask(server: int, now: float) -> None:
        nonlocal tie
        if asked[server] or at == len(tasks) or len(queue[server]) > batch // 2:
            return
        asked[server] = True
        tie += 1
        heapq.heappush(events, (now + latency_s, tie, BATCH, server))

    if group:
        for server in range(1, len(servers)):
            ask(server, 0.0)
    else:
        for rank in range(ranks):
            feed(0, rank, serve(0, 0.0))
    while events:
        now, _, what, who = heapq.heappop(events)
        if what == BATCH:  # rank 0 gives a batch, which shrinks towards the end
            done = serve(0, now)
            size = max(1, min(batch, (len(tasks) - at) // (2 * len(servers)) or 1))
            queue[who] += tasks[at : at + size]
            at = min(len(tasks), at + size)
            asked[who] = False
            servers[who] = max(servers[who], done + latency_s)
            for rank in range((who - 1) * group, min(ranks, who * group)):
                if not has[rank]:
                    feed(who, rank, serve(who, done + latency_s))
            ask(who, done + latency_s)
        else:
            server = 1 + who // group if group else 0
            has[who] -= 1
            feed(server, who, serve(server, now))
            if group:
                ask(server, servers[server])
    finish = max(finish, servers[0])  # the last result is written down
    return {
        "ranks": ranks,
        "group": group,
        "tasks": len(tasks),
        "seconds": finish,
        "efficiency": sum(tasks) / (ranks * finish),
        "rank_0_busy": busy / finish,
    }


def picture(rows: list[dict], path: pathlib.Path) -> None:
    width, height, left, top = 640, 360, 60, 30
    sizes = sorted({row["ranks"] for row in rows})

    def x(ranks: float) -> float:
        return left + (width - left - 150) * (math.log10(ranks) - 1) / (math.log10(sizes[-1]) - 1)

    def y(efficiency: float) -> float:
        return height - 40 - (height - 40 - top) * efficiency

    out = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
            ' font-family="sans-serif" font-size="12">'
        ),
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{left}" y="18">efficiency of a sweep over its ranks (simulated)</text>',
    ]
    for share in (0, 0.25, 0.5, 0.75, 1):
        out += [
            f'<line x1="{left}" x2="{width - 150}" y1="{y(share)}" y2="{y(share)}" stroke="#ddd"/>',
            f'<text x="{left - 34}" y="{y(share) + 4}">{share}</text>',
        ]
    for ranks in sizes:
        out.append(f'<text x="{x(ranks)}" y="{height - 20}" text-anchor="middle">{ranks}</text>')
    lines = sorted({(row["times"], row["group"] > 0) for row in rows})
    for i, (times, two) in enumerate(lines):
        points = [
            (x(row["ranks"]), y(row["efficiency"]))
            for row in rows
            if (row["times"], row["group"] > 0) == (times, two)
        ]
        color = ("#1b6ca8", "#c4512d", "#3a8f3a", "#7a4fa3")[
            sorted({t for t, _ in lines}).index(times) % 4
        ]
        dash = ' stroke-dasharray="5 3"' if two else ""
        out.append(
            f'<polyline fill="none" stroke="{color}" stroke-width="2"{dash}'
            f' points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in points)}"/>'
        )
        out.append(
            f'<line x1="{width - 145}" x2="{width - 120}" y1="{40 + 18 * i}" y2="{40 + 18 * i}"'
            f' stroke="{color}" stroke-width="2"{dash}/><text x="{width - 114}"'
            f' y="{44 + 18 * i}">{times}{", two levels" if two else ""}</text>'
        )
    path.write_text("\n".join(out) + "\n</svg>\n", encoding="utf-8")


def read_plan(folder: pathlib.Path) -> list[float]:
    rows = [
        json.loads(line)
        for path in sorted((folder / "results").glob("*.jsonl"))
        for line in path.read_text().splitlines()[1:]
    ]
    return sorted(round(row["took_s"], 6) for row in rows if row["outcome"] == "ok")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--record",
        action="append",
        default=[],
        help="NAME=PLAN: add its task times to recorded.json",
    )
    parser.add_argument(
        "--messages",
        type=pathlib.Path,
        help="JSON of a run with --backend mpi: record what a message costs",
    )
    parser.add_argument(
        "--latency-us",
        type=float,
        default=20,
        help="one way; between machines of one network, 20 is slow",
    )
    parser.add_argument("--tasks", type=int, default=200_000)
    parser.add_argument("--sizes", type=int, nargs="*", default=[10, 100, 1000, 10_000])
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--picture", type=pathlib.Path)
    args = parser.parse_args()
    stored = HERE / "recorded.json"
    recorded = json.loads(stored.read_text()) if stored.exists() else {"times": {}}
    for item in args.record:
        name, plan = item.split("=", 1)
        times = read_plan(pathlib.Path(plan))
        recorded["times"][name] = times[:: max(1, len(times) // 500)]
    if args.messages:
        run = json.loads(args.messages.read_text())["run"]
        recorded["message_s"] = run["message_seconds"] / max(1, run["messages"])
    if args.record or args.messages:
        stored.write_text(json.dumps(recorded, indent=1) + "\n")
    message_s, rows = recorded["message_s"], []
    print(f"a message costs rank 0 {message_s * 1e6:.1f} us; {args.tasks} tasks")
    print(
        f"{'times':12} {'ranks':>6} {'levels':>6} {'seconds':>10} {'efficiency':>10}"
        f" {'rank 0 busy':>11}"
    )
    for name, times in recorded["times"].items():
        tasks = draw(times, args.tasks, 1)
        for ranks in args.sizes:
            for group in (0, max(8, int(math.sqrt(ranks)))):
                row = simulate(tasks, ranks, message_s, args.latency_us * 1e-6, group)
                row["times"] = name
                rows.append(row)
                print(
                    f"{name:12} {ranks:6} {2 if group else 1:6} {row['seconds']:10.2f}"
                    f" {row['efficiency']:10.3f} {row['rank_0_busy']:11.3f}",
                    flush=True,
                )
    document = {"message_s": message_s, "latency_us": args.latency_us, "rows": rows}
    if args.output:
        args.output.write_text(json.dumps(document, indent=1) + "\n")
    if args.picture:
        picture(rows, args.picture)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
