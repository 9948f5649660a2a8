;; A WASI program (preview 1) that speaks CGI (RFC 3875): the request is in its environment and on standard input, the answer
;; goes to standard output. Any language that compiles to WASI will do; this one shows its environment.
;; Build it with: wat2wasm index.wat -o index.wasm
(module
  (import "wasi_snapshot_preview1" "environ_sizes_get" (func $environ_sizes_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_get" (func $environ_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 4)
  (data (i32.const 64) "Content-Type: text/plain\0a\0ahello from wasm\0a")
  (func $write (param $at i32) (param $length i32)
    (i32.store (i32.const 16) (local.get $at))
    (i32.store (i32.const 20) (local.get $length))
    (drop (call $fd_write (i32.const 1) (i32.const 16) (i32.const 1) (i32.const 24))))
  (func (export "_start") (local $at i32) (local $end i32)
    (call $write (i32.const 64) (i32.const 42))
    ;; Pointers from 4096 on, the texts from 65536 on, each ended by a zero byte.
    (drop (call $environ_sizes_get (i32.const 0) (i32.const 4)))
    (drop (call $environ_get (i32.const 4096) (i32.const 65536)))
    (local.set $at (i32.const 65536))
    (local.set $end (i32.add (i32.const 65536) (i32.load (i32.const 4))))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (if (i32.eqz (i32.load8_u (local.get $at)))
          (then (i32.store8 (local.get $at) (i32.const 10))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $next)))
    (call $write (i32.const 65536) (i32.load (i32.const 4)))))
