;; A component of wasi:http/proxy, written by hand. The path chooses what it does:
;;   /       answers with the path
;;   /echo   answers with the body of the request
;;   /many   writes 64 KiB again and again, until nobody reads it
;;   /loop   never returns          /grow  allocates without end
;;   /trap   unreachable            /none  returns without an answer
;;   /sleep  waits for an hour      /log   writes a line to the log
;;   /unfinished  returns in the middle of its answer
;;   /fields      adds fields to a set without end
;;   /bad    sets a header with a line break, and answers with the error (1: invalid-syntax is 0, forbidden 1)
(module
  (import "wasi:http/types@0.2.6" "[method]incoming-request.path-with-query" (func $path (param i32 i32)))
  (import "wasi:http/types@0.2.6" "[method]incoming-request.consume" (func $consume (param i32 i32)))
  (import "wasi:http/types@0.2.6" "[method]incoming-body.stream" (func $stream (param i32 i32)))
  (import "wasi:http/types@0.2.6" "[constructor]fields" (func $fields (result i32)))
  (import "wasi:http/types@0.2.6" "[method]fields.append" (func $append (param i32 i32 i32 i32 i32 i32)))
  (import "wasi:http/types@0.2.6" "[constructor]outgoing-response" (func $response (param i32) (result i32)))
  (import "wasi:http/types@0.2.6" "[method]outgoing-response.body" (func $body (param i32 i32)))
  (import "wasi:http/types@0.2.6" "[method]outgoing-body.write" (func $write (param i32 i32)))
  (import "wasi:http/types@0.2.6" "[static]outgoing-body.finish" (func $finish (param i32 i32 i32 i32)))
  (import "wasi:http/types@0.2.6" "[static]response-outparam.set" (func $set (param i32 i32 i32 i32 i64 i32 i32 i32 i32)))
  (import "wasi:io/streams@0.2.6" "[method]output-stream.blocking-write-and-flush" (func $put (param i32 i32 i32 i32)))
  (import "wasi:io/streams@0.2.6" "[method]input-stream.blocking-read" (func $read (param i32 i64 i32)))
  (import "wasi:io/streams@0.2.6" "[resource-drop]output-stream" (func $drop-output (param i32)))
  (import "wasi:io/streams@0.2.6" "[resource-drop]input-stream" (func $drop-input (param i32)))
  (import "wasi:io/poll@0.2.6" "[method]pollable.block" (func $block (param i32)))
  (import "wasi:clocks/monotonic-clock@0.2.6" "subscribe-duration" (func $after (param i64) (result i32)))
  (import "wasi:cli/stdout@0.2.6" "get-stdout" (func $stdout (result i32)))
  (memory (export "memory") 4)
  (global $free (mut i32) (i32.const 65536))
  (data (i32.const 1024) "a line in the log\n")
  (data (i32.const 1100) "x-bad")
  (data (i32.const 1110) "a\r\nb: c")
  (data (i32.const 1120) "invalid-syntax")
  (func $realloc (export "cabi_realloc") (param $old i32) (param i32) (param i32) (param $size i32) (result i32)
    (local $at i32)
    (local.set $at (global.get $free))
    (global.set $free (i32.and (i32.add (i32.add (local.get $at) (local.get $size)) (i32.const 7)) (i32.const -8)))
    ;; What a request reads is never freed: it grows with the request.
    (block $fits
      (loop $more
        (br_if $fits (i32.le_u (global.get $free) (i32.mul (memory.size) (i32.const 65536))))
        (if (i32.eq (memory.grow (i32.const 16)) (i32.const -1)) (then (unreachable)))
        (br $more)))
    (local.get $at))
  ;; The second character of the path, or 0.
  (func $letter (result i32)
    (if (result i32) (i32.lt_u (i32.load (i32.const 8)) (i32.const 2))
      (then (i32.const 0))
      (else (i32.load8_u offset=1 (i32.load (i32.const 4))))))
  (func $is (param $letter i32) (result i32) (i32.eq (call $letter) (local.get $letter)))
  ;; Sets the response, and returns its body in memory at 36 and its stream at 44.
  (func $answer (param $out i32)
    (local $response i32)
    (local.set $response (call $response (call $fields)))
    (call $body (local.get $response) (i32.const 32))
    (call $write (i32.load (i32.const 36)) (i32.const 40))
    (call $set (local.get $out) (i32.const 0) (local.get $response) (i32.const 0) (i64.const 0)
      (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
  (func $end
    (call $drop-output (i32.load (i32.const 44)))
    (call $finish (i32.load (i32.const 36)) (i32.const 0) (i32.const 0) (i32.const 48)))
  (func $text (param $at i32) (param $length i32)
    (call $put (i32.load (i32.const 44)) (local.get $at) (local.get $length) (i32.const 100)))
  (func $echo (param $request i32)
    (local $input i32)
    (call $consume (local.get $request) (i32.const 120))
    (call $stream (i32.load (i32.const 124)) (i32.const 128))
    (local.set $input (i32.load (i32.const 132)))
    (block $done
      (loop $next
        (global.set $free (i32.const 65536))
        (call $read (local.get $input) (i64.const 65536) (i32.const 140))
        (br_if $done (i32.load8_u (i32.const 140)))
        (call $text (i32.load (i32.const 144)) (i32.load (i32.const 148)))
        (br $next)))
    (call $drop-input (local.get $input)))
  (func (export "wasi:http/incoming-handler@0.2.6#handle") (param $request i32) (param $out i32)
    (local $fields i32)
    (call $path (local.get $request) (i32.const 0))
    (if (call $is (i32.const 108 (; l ;)))
      (then
        (if (i32.ne (i32.load8_u offset=3 (i32.load (i32.const 4))) (i32.const 103 (; g ;)))
          (then (loop $forever (br $forever))))
        (call $put (call $stdout) (i32.const 1024) (i32.const 18) (i32.const 100))))
    (if (call $is (i32.const 103 (; g ;)))
      (then (loop $more
        (memory.fill (call $realloc (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 1048576)) (i32.const 1) (i32.const 1048576))
        (br $more))))
    (if (call $is (i32.const 116 (; t ;))) (then (unreachable)))
    (if (call $is (i32.const 110 (; n ;))) (then (return)))
    (if (call $is (i32.const 115 (; s ;))) (then (call $block (call $after (i64.const 3600000000000)))))
    (if (call $is (i32.const 102 (; f ;)))
      (then
        (local.set $fields (call $fields))
        (loop $another
          (call $append (local.get $fields) (i32.const 1100) (i32.const 5) (i32.const 1100) (i32.const 5) (i32.const 160))
          (br $another))))
    (call $answer (local.get $out))
    (if (call $is (i32.const 117 (; u ;)))
      (then (call $text (i32.load (i32.const 4)) (i32.load (i32.const 8))) (return)))
    (if (call $is (i32.const 101 (; e ;)))
      (then (call $echo (local.get $request)))
      (else (if (call $is (i32.const 109 (; m ;)))
        (then (loop $again
          (call $text (i32.const 0) (i32.const 65536))
          (br_if $again (i32.eqz (i32.load8_u (i32.const 100))))))
        (else (if (call $is (i32.const 98 (; b ;)))
          (then
            (local.set $fields (call $fields))
            (call $append (local.get $fields) (i32.const 1100) (i32.const 5) (i32.const 1110) (i32.const 7) (i32.const 160))
            (if (i32.and (i32.load8_u (i32.const 160)) (i32.eqz (i32.load8_u (i32.const 161))))
              (then (call $text (i32.const 1120) (i32.const 14)))))
          (else (call $text (i32.load (i32.const 4)) (i32.load (i32.const 8)))))))))
    (call $end)))
