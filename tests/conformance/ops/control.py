"""Ops that call computations or order them: call, while, conditional, fusion, barriers, sizes, and
collectives of a single device."""

import numpy as np

from case import SAME_BITS, Case, combiner, counting, one_op, program, random


def case(name, op, root, arguments, lines=(), computations="", **more):
    return Case(name, op, program(name, root, arguments, lines, computations), arguments, **more)


def calls():
    twice = "twice {\n  a = f32[3] parameter(0)\n  ROOT b = f32[3] add(a, a)\n}\n\n"
    x = counting("f32", (3,))
    yield case("call_once", "call", "f32[3] call(p0), to_apply=twice", [x], computations=twice)
    yield case(
        "call_twice",
        "call",
        "f32[3] call(first), to_apply=twice",
        [x],
        ["first = f32[3] call(p0), to_apply=twice"],
        twice,
    )
    nested = (
        twice
        + "four {\n  a = f32[3] parameter(0)\n  b = f32[3] call(a), to_apply=twice\n  ROOT c ="
        " f32[3] call(b), to_apply=twice\n}\n\n"
    )
    yield case("call_nested", "call", "f32[3] call(p0), to_apply=four", [x], computations=nested)
    pair = (
        "swap {\n  a = f32[3] parameter(0)\n  b = s32[] parameter(1)\n  ROOT t = (s32[], f32[3])"
        " tuple(b, a)\n}\n\n"
    )
    yield case(
        "call_tuple",
        "call",
        "(s32[], f32[3]) call(p0, p1), to_apply=swap",
        [x, np.array(7, np.int32)],
        computations=pair,
    )
    fused = (
        "fused {\n  a = f32[3] parameter(0)\n  b = f32[3] parameter(1)\n  c = f32[3] multiply(a,"
        " b)\n  ROOT d = f32[3] subtract(c, a)\n}\n\n"
    )
    yield case(
        "fusion_loop",
        "fusion",
        "f32[3] fusion(p0, p1), kind=kLoop, calls=fused",
        [x, counting("f32", (3,), 4)],
        computations=fused,
    )
    several = (
        "several {\n  a = f32[3] parameter(0)\n  b = f32[3] negate(a)\n  c = f32[3] abs(a)\n  ROOT"
        " t = (f32[3], f32[3]) tuple(b, c)\n}\n\n"
    )
    # XLA:CPU aborts on this one (Check failed: has_layout, in GetWorkDimensions).
    yield case(
        "fusion_two_results",
        "fusion",
        "(f32[3], f32[3]) fusion(p0), kind=kLoop, calls=several",
        [x],
        computations=several,
        results=[-x, np.abs(x)],
    )


def loop(name, state, condition, body, initial, arguments, root="loop", lines=(), result=None):
    text = (
        f"body {{\n  s = {state} parameter(0)\n{body}}}\n\ncondition {{\n  s = {state}"
        f" parameter(0)\n{condition}}}\n\n"
    )
    result = result or f"{state} while(start), condition=condition, body=body"
    return case(
        name, "while", result, arguments, [*lines, f"start = {state} tuple({initial})"], text
    )


def whiles():
    below = (
        "  i = s32[] get-tuple-element(s), index=0\n  n = s32[] constant({})\n  ROOT go = pred[]"
        " compare(i, n), direction=LT\n"
    )
    body = (
        "  i = s32[] get-tuple-element(s), index=0\n  x = f32[3] get-tuple-element(s), index=1\n "
        " one = s32[] constant(1)\n  j = s32[] add(i, one)\n  y = f32[3] add(x, x)\n  ROOT t ="
        " (s32[], f32[3]) tuple(j, y)\n"
    )
    state, x, zero = "(s32[], f32[3])", counting("f32", (3,), 7), np.array(0, np.int32)
    for count in (0, 1, 5):
        yield loop(f"while_{count}_times", state, below.format(count), body, "p0, p1", [zero, x])
    carried = (
        "  i = s32[] get-tuple-element(s), index=0\n  n = s32[] get-tuple-element(s), index=2\n "
        " ROOT go = pred[] compare(i, n), direction=LT\n"
    )
    swap = (
        "  i = s32[] get-tuple-element(s), index=0\n  x = f32[3] get-tuple-element(s), index=1\n  n"
        " = s32[] get-tuple-element(s), index=2\n  y = f32[3] get-tuple-element(s), index=3\n  one"
        " = s32[] constant(1)\n  j = s32[] add(i, one)\n  ROOT t = (s32[], f32[3], s32[], f32[3])"
        " tuple(j, y, n, x)\n"
    )
    yield loop(
        "while_swaps_its_state",
        "(s32[], f32[3], s32[], f32[3])",
        carried,
        swap,
        "p0, p1, p2, p3",
        [zero, x, np.array(3, np.int32), counting("f32", (3,), 1)],
    )
    stack = (
        "  i = s32[] get-tuple-element(s), index=0\n  x = f32[2] get-tuple-element(s), index=1\n "
        " all = f32[4,2] get-tuple-element(s), index=2\n  one = s32[] constant(1)\n  zero = s32[]"
        " constant(0)\n  j = s32[] add(i, one)\n  row = f32[1,2] reshape(x)\n  more = f32[4,2]"
        " dynamic-update-slice(all, row, i, zero)\n  y = f32[2] multiply(x, x)\n  ROOT t = (s32[],"
        " f32[2], f32[4,2]) tuple(j, y, more)\n"
    )
    yield loop(
        "while_stacks_rows",
        "(s32[], f32[2], f32[4,2])",
        below.format(4),
        stack,
        "p0, p1, p2",
        [zero, random("f32", (2,), 1), np.zeros((4, 2), np.float32)],
    )
    data_stop = (
        "  v = f32[] get-tuple-element(s), index=0\n  limit = f32[] constant(100)\n  ROOT go ="
        " pred[] compare(v, limit), direction=LT\n"
    )
    grow = (
        "  v = f32[] get-tuple-element(s), index=0\n  k = s32[] get-tuple-element(s), index=1\n "
        " one = s32[] constant(1)\n  w = f32[] add(v, v)\n  l = s32[] add(k, one)\n  ROOT t ="
        " (f32[], s32[]) tuple(w, l)\n"
    )
    yield loop(
        "while_stops_by_its_data",
        "(f32[], s32[])",
        data_stop,
        grow,
        "p0, p1",
        [np.array(1.5, np.float32), zero],
    )
    inner = (
        "inner_body {\n  s = (s32[], f32[]) parameter(0)\n  i = s32[] get-tuple-element(s),"
        " index=0\n  v = f32[] get-tuple-element(s), index=1\n  one = s32[] constant(1)\n  j ="
        " s32[] add(i, one)\n  h = f32[] constant(0.5)\n  w = f32[] add(v, h)\n  ROOT t = (s32[],"
        " f32[]) tuple(j, w)\n}\n\ninner_condition {\n  s = (s32[], f32[]) parameter(0)\n  i ="
        " s32[] get-tuple-element(s), index=0\n  n = s32[] constant(3)\n  ROOT go = pred[]"
        " compare(i, n), direction=LT\n}\n\nbody {\n  s = (s32[], f32[]) parameter(0)\n  i = s32[]"
        " get-tuple-element(s), index=0\n  v = f32[] get-tuple-element(s), index=1\n  zero = s32[]"
        " constant(0)\n  start = (s32[], f32[]) tuple(zero, v)\n  run = (s32[], f32[])"
        " while(start), condition=inner_condition, body=inner_body\n  w = f32[]"
        " get-tuple-element(run), index=1\n  one = s32[] constant(1)\n  j = s32[] add(i, one)\n "
        " ROOT t = (s32[], f32[]) tuple(j, w)\n}\n\ncondition {\n  s = (s32[], f32[])"
        " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n  n = s32[] constant(4)\n  ROOT"
        " go = pred[] compare(i, n), direction=LT\n}\n\n"
    )
    yield case(
        "while_nested",
        "while",
        "(s32[], f32[]) while(start), condition=condition, body=body",
        [zero, np.array(1, np.float32)],
        ["start = (s32[], f32[]) tuple(p0, p1)"],
        inner,
    )
    single = (
        "body {\n  s = s32[] parameter(0)\n  two = s32[] constant(2)\n  ROOT t = s32[] multiply(s,"
        " two)\n}\n\ncondition {\n  s = s32[] parameter(0)\n  n = s32[] constant(1000)\n  ROOT go ="
        " pred[] compare(s, n), direction=LT\n}\n\n"
    )
    yield case(
        "while_state_is_no_tuple",
        "while",
        "s32[] while(p0), condition=condition, body=body",
        [np.array(3, np.int32)],
        computations=single,
    )


def conditionals():
    branch = "{name} {{\n  a = f32[3] parameter(0)\n  ROOT b = f32[3] {op}(a{more})\n}}\n\n"
    branches = (
        branch.format(name="first", op="negate", more="")
        + branch.format(name="second", op="add", more=", a")
        + branch.format(name="third", op="multiply", more=", a")
    )
    x, y, z = (counting("f32", (3,), start) for start in (7, 9, 12))
    for choice in (True, False):
        yield case(
            f"conditional_{str(choice).lower()}",
            "conditional",
            "f32[3] conditional(p0, p1, p2), true_computation=first, false_computation=second",
            [np.array(choice), x, y],
            computations=branches,
        )
    for index in (0, 1, 2, 3, -1, 100):
        yield case(
            f"conditional_index_{index}".replace("-", "minus"),
            "conditional",
            "f32[3] conditional(p0, p1, p2, p3), branch_computations={first, second, third}",
            [np.array(index, np.int32), x, y, z],
            computations=branches,
        )
    tuples = (
        "left {\n  s = (f32[3], s32[]) parameter(0)\n  a = f32[3] get-tuple-element(s), index=0\n "
        " b = s32[] get-tuple-element(s), index=1\n  c = s32[] negate(b)\n  ROOT t = (s32[],"
        " f32[3]) tuple(c, a)\n}\n\nright {\n  a = f32[3] parameter(0)\n  n = s32[] constant(5)\n "
        " b = f32[3] add(a, a)\n  ROOT t = (s32[], f32[3]) tuple(n, b)\n}\n\n"
    )
    for choice in (True, False):
        yield case(
            f"conditional_tuples_{str(choice).lower()}",
            "conditional",
            "(s32[], f32[3]) conditional(p0, pair, p1), true_computation=left,"
            " false_computation=right",
            [np.array(choice), x, np.array(4, np.int32)],
            ["pair = (f32[3], s32[]) tuple(p1, p2)"],
            tuples,
        )


def orders():
    x, y = counting("f32", (3,)), counting("s32", (2,))
    yield case(
        "opt_barrier_tuple",
        "opt-barrier",
        "(f32[3], s32[2]) opt-barrier(pair)",
        [x, y],
        ["pair = (f32[3], s32[2]) tuple(p0, p1)"],
    )
    yield case("opt_barrier_array", "opt-barrier", "f32[3] opt-barrier(p0)", [x])
    yield case(
        "after_all",
        "after-all",
        "f32[3] add(p0, p0)",
        [x],
        ["t = token[] after-all()", "u = token[] after-all(t)"],
    )
    yield case(
        "add_dependency",
        "add-dependency",
        "f32[3] add-dependency(p0, t)",
        [x],
        ["t = token[] after-all()"],
    )
    yield case(
        "get_dimension_size_static",
        "get-dimension-size",
        "s32[] get-dimension-size(p0), dimensions={0}",
        [x],
    )
    for size in (0, 1, 2, 3):
        computation, text = combiner("add", "f32")
        lines = [
            "part = f32[<=3] set-dimension-size(p0, p1), dimensions={0}",
            "zero = f32[] constant(0)",
            f"sum = f32[] reduce(part, zero), dimensions={{0}}, to_apply={computation}",
            "size = s32[] get-dimension-size(part), dimensions={0}",
        ]
        yield case(
            f"set_dimension_size_{size}",
            "set-dimension-size",
            "(f32[], s32[]) tuple(sum, size)",
            [x, np.array(size, np.int32)],
            lines,
            text,
        )


def collectives():
    """On one device each of them copies its operand, or moves it along one dimension of size
    one."""
    x = counting("f32", (4, 2), 3)
    computation, text = combiner("add", "f32")
    yield case("partition_id", "partition-id", "u32[] partition-id()", [])
    yield case("replica_id", "replica-id", "u32[] replica-id()", [])
    yield case(
        "all_reduce",
        "all-reduce",
        f"f32[4,2] all-reduce(p0), replica_groups={{{{0}}}}, to_apply={computation}",
        [x],
        computations=text,
    )
    yield case(
        "all_reduce_two",
        "all-reduce",
        f"(f32[4,2], f32[3]) all-reduce(p0, p1), replica_groups={{}}, to_apply={computation}",
        [x, counting("f32", (3,))],
        computations=text,
    )
    yield case(
        "all_gather",
        "all-gather",
        "f32[4,2] all-gather(p0), replica_groups={{0}}, dimensions={0}",
        [x],
    )
    yield case(
        "reduce_scatter",
        "reduce-scatter",
        "f32[4,2] reduce-scatter(p0), replica_groups={{0}}, dimensions={0},"
        f" to_apply={computation}",
        [x],
        computations=text,
    )
    yield case(
        "all_to_all",
        "all-to-all",
        "f32[4,2] all-to-all(p0), replica_groups={{0}}, dimensions={0}",
        [x],
    )
    yield case(
        "collective_permute_self",
        "collective-permute",
        "f32[4,2] collective-permute(p0), source_target_pairs={{0,0}}",
        [x],
    )
    yield case(
        "collective_permute_nobody",
        "collective-permute",
        "f32[4,2] collective-permute(p0), source_target_pairs={}",
        [x],
    )
    yield case(
        "collective_broadcast",
        "collective-broadcast",
        "f32[4,2] collective-broadcast(p0), replica_groups={{0}}",
        [x],
        results=[x],
    )


FAMILIES = {
    "call": calls,
    "while": whiles,
    "conditional": conditionals,
    "order": orders,
    "collectives": collectives,
}
