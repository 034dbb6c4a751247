import zlib

whole = zlib.compress((3).to_bytes(4, "big") + b"executable" * 100)
open("jax/jit_step-" + "ab" * 32 + "-cache", "wb").write(whole)
open("jax/jit_torn-" + "cd" * 32 + "-cache", "wb").write(whole[:20])
open("jax/notes.txt", "wb").write(b"no entry")
