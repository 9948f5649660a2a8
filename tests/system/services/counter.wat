;; A WASI program that counts its requests in the file /data/n, and answers with the count.
;; Build it with: wat2wasm counter.wat -o counter.wasm
(module
  (import "wasi_snapshot_preview1" "path_open"
    (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 32) "n")
  (data (i32.const 64) "Content-Type: text/plain\0a\0a")
  ;; The descriptor of /data/n; flags: 1 makes it where it is not there, 8 empties it.
  (func $open (param $flags i32) (result i32)
    (if (call $path_open (i32.const 3) (i32.const 0) (i32.const 32) (i32.const 1) (local.get $flags)
          (i64.const -1) (i64.const -1) (i32.const 0) (i32.const 8))
      (then unreachable))
    (i32.load (i32.const 8)))
  (func $write (param $descriptor i32) (param $at i32) (param $length i32)
    (i32.store (i32.const 16) (local.get $at))
    (i32.store (i32.const 20) (local.get $length))
    (if (call $fd_write (local.get $descriptor) (i32.const 16) (i32.const 1) (i32.const 24)) (then unreachable)))
  (func (export "_start") (local $count i32) (local $at i32) (local $end i32)
    (i32.store (i32.const 16) (i32.const 256))
    (i32.store (i32.const 20) (i32.const 32))
    (if (call $fd_read (call $open (i32.const 1)) (i32.const 16) (i32.const 1) (i32.const 24)) (then unreachable))
    (local.set $at (i32.const 256))
    (local.set $end (i32.add (i32.const 256) (i32.load (i32.const 24))))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $count (i32.add (i32.mul (local.get $count) (i32.const 10))
          (i32.sub (i32.load8_u (local.get $at)) (i32.const 48))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $next)))
    (local.set $count (i32.add (local.get $count) (i32.const 1)))
    ;; Digits from the last to the first, which ends at 320.
    (local.set $at (i32.const 320))
    (loop $digit
      (local.set $at (i32.sub (local.get $at) (i32.const 1)))
      (i32.store8 (local.get $at) (i32.add (i32.const 48) (i32.rem_u (local.get $count) (i32.const 10))))
      (local.set $count (i32.div_u (local.get $count) (i32.const 10)))
      (br_if $digit (local.get $count)))
    (call $write (call $open (i32.const 9)) (local.get $at) (i32.sub (i32.const 320) (local.get $at)))
    (call $write (i32.const 1) (i32.const 64) (i32.const 26))
    (call $write (i32.const 1) (local.get $at) (i32.sub (i32.const 320) (local.get $at)))))
