;; What AssemblyScript 0.28.20 makes of counter.as, except the name of the handler, which its exports cannot have:
;; cp counter.as counter.ts && asc counter.ts -Oz --runtime stub --use abort= --textFile counter.wat
(module
 (type $0 (func (param i32) (result i32)))
 (type $1 (func (param i32 i32)))
 (type $2 (func (param i32 i32) (result i32)))
 (type $3 (func (param i32)))
 (type $4 (func (param i32 i32 i32 i32)))
 (type $5 (func (param i32 i32 i32)))
 (type $6 (func (param i32 i32 i32 i32) (result i32)))
 (type $7 (func (result i32)))
 (type $8 (func))
 (type $9 (func (param i64) (result i32)))
 (type $10 (func (param i32 i32 i32 i32 i32) (result i32)))
 (type $11 (func (param i32 i32 i32 i32 i64 i32 i32 i32 i32)))
 (type $12 (func (param i32 i64 i32)))
 (type $13 (func (param i32 i32 i32 i64 i32)))
 (import "wasi:http/types@0.2.6" "[constructor]fields" (func $counter/newFields (result i32)))
 (import "wasi:io/streams@0.2.6" "[method]output-stream.blocking-write-and-flush" (func $counter/write (param i32 i32 i32 i32)))
 (import "wasi:http/types@0.2.6" "[method]future-incoming-response.subscribe" (func $counter/subscribe (param i32) (result i32)))
 (import "wasi:http/types@0.2.6" "[method]outgoing-body.write" (func $counter/streamOf (param i32 i32)))
 (import "wasi:http/types@0.2.6" "[method]outgoing-request.set-scheme" (func $counter/setScheme (param i32 i32 i32 i32 i32) (result i32)))
 (import "wasi:http/types@0.2.6" "[static]response-outparam.set" (func $counter/setResponse (param i32 i32 i32 i32 i64 i32 i32 i32 i32)))
 (import "wasi:http/types@0.2.6" "[method]outgoing-request.set-authority" (func $counter/setAuthority (param i32 i32 i32 i32) (result i32)))
 (import "wasi:http/outgoing-handler@0.2.6" "handle" (func $counter/send (param i32 i32 i32 i32)))
 (import "wasi:io/streams@0.2.6" "[method]input-stream.blocking-read" (func $counter/read (param i32 i64 i32)))
 (import "wasi:http/types@0.2.6" "[method]incoming-request.path-with-query" (func $counter/pathOf (param i32 i32)))
 (import "wasi:keyvalue/store@0.2.0-draft" "open" (func $counter/open (param i32 i32 i32)))
 (import "wasi:http/types@0.2.6" "[constructor]outgoing-response" (func $counter/newResponse (param i32) (result i32)))
 (import "wasi:http/types@0.2.6" "[constructor]outgoing-request" (func $counter/newRequest (param i32) (result i32)))
 (import "wasi:http/types@0.2.6" "[method]incoming-body.stream" (func $counter/inputOf (param i32 i32)))
 (import "wasi:keyvalue/atomics@0.2.0-draft" "increment" (func $counter/increment (param i32 i32 i32 i64 i32)))
 (import "wasi:http/types@0.2.6" "[method]future-incoming-response.get" (func $counter/get (param i32 i32)))
 (import "wasi:http/types@0.2.6" "[static]outgoing-body.finish" (func $counter/finish (param i32 i32 i32 i32)))
 (import "wasi:io/streams@0.2.6" "[resource-drop]output-stream" (func $counter/dropOutput (param i32)))
 (import "wasi:http/types@0.2.6" "[method]incoming-response.consume" (func $counter/consume (param i32 i32)))
 (import "wasi:http/types@0.2.6" "[method]outgoing-response.body" (func $counter/bodyOf (param i32 i32)))
 (import "wasi:io/poll@0.2.6" "[method]pollable.block" (func $counter/block (param i32)))
 (global $~lib/rt/stub/offset (mut i32) (i32.const 0))
 (global $counter/area (mut i32) (i32.const 0))
 (global $~argumentsLength (mut i32) (i32.const 0))
 (memory $0 1)
 (data $0 (i32.const 12) "\1c")
 (data $0.1 (i32.const 24) "\02")
 (data $1 (i32.const 44) "\1c")
 (data $1.1 (i32.const 56) "\02\00\00\00\02\00\00\00?")
 (data $2 (i32.const 76) "\1c")
 (data $2.1 (i32.const 88) "\02\00\00\00\02\00\00\00 ")
 (data $3 (i32.const 108) "\1c\00\00\00\03\00\00\00\00\00\00\00\04\00\00\00\0c\00\00\00\00\00\00\00`")
 (data $4 (i32.const 140) ",")
 (data $4.1 (i32.const 152) "\02\00\00\00\0e\00\00\00d\00e\00f\00a\00u\00l\00t")
 (data $5 (i32.const 188) "\1c")
 (data $5.1 (i32.const 200) "\02\00\00\00\n\00\00\00c\00o\00u\00n\00t")
 (data $6 (i32.const 220) "\1c")
 (data $6.1 (i32.const 232) "\02\00\00\00\02\00\00\000")
 (data $7 (i32.const 252) "\\")
 (data $7.1 (i32.const 264) "\02\00\00\00H\00\00\000\001\002\003\004\005\006\007\008\009\00a\00b\00c\00d\00e\00f\00g\00h\00i\00j\00k\00l\00m\00n\00o\00p\00q\00r\00s\00t\00u\00v\00w\00x\00y\00z")
 (data $8 (i32.const 348) ",")
 (data $8.1 (i32.const 360) "\02\00\00\00\10\00\00\00n\00o\00t\00 \00s\00e\00n\00t")
 (data $9 (i32.const 396) ",")
 (data $9.1 (i32.const 408) "\02\00\00\00\0e\00\00\00r\00e\00f\00u\00s\00e\00d")
 (export "cabi_realloc" (func $counter/cabi_realloc))
 (export "wasi:http/incoming-handler@0.2.6#handle" (func $counter/handle))
 (export "memory" (memory $0))
 (start $~start)
 (func $~lib/string/String#get:length (param $0 i32) (result i32)
  local.get $0
  i32.const 20
  i32.sub
  i32.load offset=16
  i32.const 1
  i32.shr_u
 )
 (func $~lib/rt/stub/__new (param $0 i32) (param $1 i32) (result i32)
  (local $2 i32)
  (local $3 i32)
  local.get $0
  i32.const 1073741804
  i32.gt_u
  if
   unreachable
  end
  local.get $0
  i32.const 16
  i32.add
  call $~lib/rt/stub/__alloc
  local.tee $3
  i32.const 4
  i32.sub
  local.tee $2
  i32.const 0
  i32.store offset=4
  local.get $2
  i32.const 0
  i32.store offset=8
  local.get $2
  local.get $1
  i32.store offset=12
  local.get $2
  local.get $0
  i32.store offset=16
  local.get $3
  i32.const 16
  i32.add
 )
 (func $~lib/string/String.UTF8.encode@varargs (param $0 i32) (result i32)
  (local $1 i32)
  (local $2 i32)
  (local $3 i32)
  (local $4 i32)
  block $2of2
   block $outOfRange
    global.get $~argumentsLength
    i32.const 1
    i32.sub
    br_table $2of2 $2of2 $2of2 $outOfRange
   end
   unreachable
  end
  local.get $0
  local.tee $1
  local.get $1
  i32.const 20
  i32.sub
  i32.load offset=16
  i32.add
  local.set $3
  loop $while-continue|0
   local.get $1
   local.get $3
   i32.lt_u
   if
    local.get $1
    i32.load16_u
    local.tee $4
    i32.const 128
    i32.lt_u
    if (result i32)
     local.get $2
     i32.const 1
     i32.add
    else
     local.get $4
     i32.const 2048
     i32.lt_u
     if (result i32)
      local.get $2
      i32.const 2
      i32.add
     else
      local.get $4
      i32.const 64512
      i32.and
      i32.const 55296
      i32.eq
      local.get $1
      i32.const 2
      i32.add
      local.get $3
      i32.lt_u
      i32.and
      if
       local.get $1
       i32.load16_u offset=2
       i32.const 64512
       i32.and
       i32.const 56320
       i32.eq
       if
        local.get $2
        i32.const 4
        i32.add
        local.set $2
        local.get $1
        i32.const 4
        i32.add
        local.set $1
        br $while-continue|0
       end
      end
      local.get $2
      i32.const 3
      i32.add
     end
    end
    local.set $2
    local.get $1
    i32.const 2
    i32.add
    local.set $1
    br $while-continue|0
   end
  end
  local.get $2
  i32.const 1
  call $~lib/rt/stub/__new
  local.set $1
  local.get $0
  local.get $0
  call $~lib/string/String#get:length
  local.get $1
  call $~lib/string/String.UTF8.encodeUnsafe
  local.get $1
 )
 (func $~lib/rt/stub/__alloc (param $0 i32) (result i32)
  (local $1 i32)
  (local $2 i32)
  local.get $0
  i32.const 1073741820
  i32.gt_u
  if
   unreachable
  end
  global.get $~lib/rt/stub/offset
  global.get $~lib/rt/stub/offset
  i32.const 4
  i32.add
  local.tee $2
  local.get $0
  i32.const 19
  i32.add
  i32.const -16
  i32.and
  i32.const 4
  i32.sub
  local.tee $0
  i32.add
  call $~lib/rt/stub/maybeGrowMemory
  local.get $0
  i32.store
  local.get $2
 )
 (func $~lib/arraybuffer/ArrayBuffer#get:byteLength (param $0 i32) (result i32)
  local.get $0
  i32.const 20
  i32.sub
  i32.load offset=16
 )
 (func $~lib/string/String.__ne (param $0 i32) (result i32)
  local.get $0
  i32.eqz
  i32.eqz
 )
 (func $~lib/string/String.__concat (param $0 i32) (param $1 i32) (result i32)
  (local $2 i32)
  (local $3 i32)
  (local $4 i32)
  (local $5 i32)
  i32.const 32
  local.set $2
  local.get $0
  call $~lib/string/String#get:length
  i32.const 1
  i32.shl
  local.tee $3
  local.get $1
  call $~lib/string/String#get:length
  i32.const 1
  i32.shl
  local.tee $4
  i32.add
  local.tee $5
  if
   local.get $5
   i32.const 2
   call $~lib/rt/stub/__new
   local.tee $2
   local.get $0
   local.get $3
   memory.copy
   local.get $2
   local.get $3
   i32.add
   local.get $1
   local.get $4
   memory.copy
  end
  local.get $2
 )
 (func $~lib/string/String.UTF8.decodeUnsafe (param $0 i32) (param $1 i32) (result i32)
  (local $2 i32)
  (local $3 i32)
  (local $4 i32)
  (local $5 i32)
  (local $6 i32)
  local.get $0
  local.get $1
  i32.add
  local.tee $3
  local.get $0
  i32.lt_u
  if
   unreachable
  end
  local.get $1
  i32.const 1
  i32.shl
  i32.const 2
  call $~lib/rt/stub/__new
  local.tee $4
  local.set $1
  loop $while-continue|0
   local.get $0
   local.get $3
   i32.lt_u
   if
    block $while-break|0
     local.get $0
     i32.load8_u
     local.set $2
     local.get $0
     i32.const 1
     i32.add
     local.set $0
     local.get $2
     i32.const 128
     i32.and
     if
      local.get $0
      local.get $3
      i32.eq
      br_if $while-break|0
      local.get $0
      i32.load8_u
      i32.const 63
      i32.and
      local.set $5
      local.get $0
      i32.const 1
      i32.add
      local.set $0
      local.get $2
      i32.const 224
      i32.and
      i32.const 192
      i32.eq
      if
       local.get $1
       local.get $2
       i32.const 31
       i32.and
       i32.const 6
       i32.shl
       local.get $5
       i32.or
       i32.store16
      else
       local.get $0
       local.get $3
       i32.eq
       br_if $while-break|0
       local.get $0
       i32.load8_u
       i32.const 63
       i32.and
       local.set $6
       local.get $0
       i32.const 1
       i32.add
       local.set $0
       local.get $2
       i32.const 240
       i32.and
       i32.const 224
       i32.eq
       if
        local.get $2
        i32.const 15
        i32.and
        i32.const 12
        i32.shl
        local.get $5
        i32.const 6
        i32.shl
        i32.or
        local.get $6
        i32.or
        local.set $2
       else
        local.get $0
        local.get $3
        i32.eq
        br_if $while-break|0
        local.get $0
        i32.load8_u
        i32.const 63
        i32.and
        local.get $2
        i32.const 7
        i32.and
        i32.const 18
        i32.shl
        local.get $5
        i32.const 12
        i32.shl
        i32.or
        local.get $6
        i32.const 6
        i32.shl
        i32.or
        i32.or
        local.set $2
        local.get $0
        i32.const 1
        i32.add
        local.set $0
       end
       local.get $2
       i32.const 65536
       i32.lt_u
       if
        local.get $1
        local.get $2
        i32.store16
       else
        local.get $1
        local.get $2
        i32.const 65536
        i32.sub
        local.tee $2
        i32.const 10
        i32.shr_u
        i32.const 55296
        i32.or
        local.get $2
        i32.const 1023
        i32.and
        i32.const 56320
        i32.or
        i32.const 16
        i32.shl
        i32.or
        i32.store
        local.get $1
        i32.const 2
        i32.add
        local.set $1
       end
      end
     else
      local.get $1
      local.get $2
      i32.store16
     end
     local.get $1
     i32.const 2
     i32.add
     local.set $1
     br $while-continue|0
    end
   end
  end
  local.get $1
  local.get $4
  i32.sub
  local.tee $2
  i32.const 1073741804
  i32.gt_u
  if
   unreachable
  end
  local.get $4
  i32.const 16
  i32.sub
  local.tee $1
  i32.const 15
  i32.and
  i32.const 1
  local.get $1
  select
  if
   unreachable
  end
  global.get $~lib/rt/stub/offset
  local.get $1
  i32.const 4
  i32.sub
  local.tee $0
  i32.load
  local.tee $3
  local.get $1
  i32.add
  i32.eq
  local.set $4
  local.get $2
  i32.const 16
  i32.add
  local.tee $5
  i32.const 19
  i32.add
  i32.const -16
  i32.and
  i32.const 4
  i32.sub
  local.set $6
  local.get $3
  local.get $5
  i32.lt_u
  if
   local.get $4
   if
    local.get $5
    i32.const 1073741820
    i32.gt_u
    if
     unreachable
    end
    local.get $1
    local.get $6
    i32.add
    call $~lib/rt/stub/maybeGrowMemory
    local.get $0
    local.get $6
    i32.store
   else
    local.get $6
    local.get $3
    i32.const 1
    i32.shl
    local.tee $0
    local.get $0
    local.get $6
    i32.lt_u
    select
    call $~lib/rt/stub/__alloc
    local.tee $0
    local.get $1
    local.get $3
    memory.copy
    local.get $0
    local.set $1
   end
  else
   local.get $4
   if
    local.get $1
    local.get $6
    i32.add
    global.set $~lib/rt/stub/offset
    local.get $0
    local.get $6
    i32.store
   end
  end
  local.get $1
  i32.const 4
  i32.sub
  local.get $2
  i32.store offset=16
  local.get $1
  i32.const 16
  i32.add
 )
 (func $~lib/staticarray/StaticArray<~lib/string/String>#__uset (param $0 i32) (param $1 i32)
  local.get $0
  i32.const 2
  i32.shl
  i32.const 128
  i32.add
  local.get $1
  i32.store
 )
 (func $~lib/rt/stub/maybeGrowMemory (param $0 i32)
  (local $1 i32)
  (local $2 i32)
  memory.size
  local.tee $1
  i32.const 16
  i32.shl
  i32.const 15
  i32.add
  i32.const -16
  i32.and
  local.tee $2
  local.get $0
  i32.lt_u
  if
   local.get $1
   local.get $0
   local.get $2
   i32.sub
   i32.const 65535
   i32.add
   i32.const -65536
   i32.and
   i32.const 16
   i32.shr_u
   local.tee $2
   local.get $1
   local.get $2
   i32.gt_s
   select
   memory.grow
   i32.const 0
   i32.lt_s
   if
    local.get $2
    memory.grow
    i32.const 0
    i32.lt_s
    if
     unreachable
    end
   end
  end
  local.get $0
  global.set $~lib/rt/stub/offset
 )
 (func $~start
  i32.const 444
  global.set $~lib/rt/stub/offset
  i32.const 64
  call $~lib/rt/stub/__alloc
  global.set $counter/area
 )
 (func $~lib/util/number/itoa64 (param $0 i64) (result i32)
  (local $1 i32)
  (local $2 i32)
  (local $3 i32)
  (local $4 i32)
  (local $5 i32)
  local.get $0
  i64.eqz
  if
   i32.const 240
   return
  end
  i64.const 0
  local.get $0
  i64.sub
  local.get $0
  local.get $0
  i64.const 63
  i64.shr_u
  i32.wrap_i64
  i32.const 1
  i32.shl
  local.tee $2
  select
  local.tee $0
  i64.const 4294967295
  i64.le_u
  if
   local.get $0
   i32.wrap_i64
   local.tee $1
   i32.const 10
   i32.ge_u
   i32.const 1
   i32.add
   local.get $1
   i32.const 10000
   i32.ge_u
   i32.const 3
   i32.add
   local.get $1
   i32.const 1000
   i32.ge_u
   i32.add
   local.get $1
   i32.const 100
   i32.lt_u
   select
   local.get $1
   i32.const 1000000
   i32.ge_u
   i32.const 6
   i32.add
   local.get $1
   i32.const 1000000000
   i32.ge_u
   i32.const 8
   i32.add
   local.get $1
   i32.const 100000000
   i32.ge_u
   i32.add
   local.get $1
   i32.const 10000000
   i32.lt_u
   select
   local.get $1
   i32.const 100000
   i32.lt_u
   select
   local.tee $3
   i32.const 1
   i32.shl
   local.get $2
   i32.add
   i32.const 2
   call $~lib/rt/stub/__new
   local.tee $4
   local.get $2
   i32.add
   local.set $5
   loop $do-loop|0
    local.get $5
    local.get $3
    i32.const 1
    i32.sub
    local.tee $3
    i32.const 1
    i32.shl
    i32.add
    local.get $1
    i32.const 10
    i32.rem_u
    i32.const 48
    i32.add
    i32.store16
    local.get $1
    i32.const 10
    i32.div_u
    local.tee $1
    br_if $do-loop|0
   end
  else
   local.get $0
   i64.const 100000000000
   i64.ge_u
   i32.const 10
   i32.add
   local.get $0
   i64.const 10000000000
   i64.ge_u
   i32.add
   local.get $0
   i64.const 100000000000000
   i64.ge_u
   i32.const 13
   i32.add
   local.get $0
   i64.const 10000000000000
   i64.ge_u
   i32.add
   local.get $0
   i64.const 1000000000000
   i64.lt_u
   select
   local.get $0
   i64.const 10000000000000000
   i64.ge_u
   i32.const 16
   i32.add
   local.get $0
   i64.const -8446744073709551616
   i64.ge_u
   i32.const 18
   i32.add
   local.get $0
   i64.const 1000000000000000000
   i64.ge_u
   i32.add
   local.get $0
   i64.const 100000000000000000
   i64.lt_u
   select
   local.get $0
   i64.const 1000000000000000
   i64.lt_u
   select
   local.tee $1
   i32.const 1
   i32.shl
   local.get $2
   i32.add
   i32.const 2
   call $~lib/rt/stub/__new
   local.tee $4
   local.get $2
   i32.add
   local.set $3
   loop $do-loop|00
    local.get $3
    local.get $1
    i32.const 1
    i32.sub
    local.tee $1
    i32.const 1
    i32.shl
    i32.add
    local.get $0
    i64.const 10
    i64.rem_u
    i32.wrap_i64
    i32.const 48
    i32.add
    i32.store16
    local.get $0
    i64.const 10
    i64.div_u
    local.tee $0
    i64.const 0
    i64.ne
    br_if $do-loop|00
   end
  end
  local.get $2
  if
   local.get $4
   i32.const 45
   i32.store16
  end
  local.get $4
 )
 (func $~lib/string/String.UTF8.encodeUnsafe (param $0 i32) (param $1 i32) (param $2 i32)
  (local $3 i32)
  (local $4 i32)
  local.get $0
  local.get $1
  i32.const 1
  i32.shl
  i32.add
  local.set $3
  local.get $2
  local.set $1
  loop $while-continue|0
   local.get $0
   local.get $3
   i32.lt_u
   if
    local.get $0
    i32.load16_u
    local.tee $2
    i32.const 128
    i32.lt_u
    if (result i32)
     local.get $1
     local.get $2
     i32.store8
     local.get $1
     i32.const 1
     i32.add
    else
     local.get $2
     i32.const 2048
     i32.lt_u
     if (result i32)
      local.get $1
      local.get $2
      i32.const 6
      i32.shr_u
      i32.const 192
      i32.or
      local.get $2
      i32.const 63
      i32.and
      i32.const 128
      i32.or
      i32.const 8
      i32.shl
      i32.or
      i32.store16
      local.get $1
      i32.const 2
      i32.add
     else
      local.get $2
      i32.const 56320
      i32.lt_u
      local.get $0
      i32.const 2
      i32.add
      local.get $3
      i32.lt_u
      i32.and
      local.get $2
      i32.const 63488
      i32.and
      i32.const 55296
      i32.eq
      i32.and
      if
       local.get $0
       i32.load16_u offset=2
       local.tee $4
       i32.const 64512
       i32.and
       i32.const 56320
       i32.eq
       if
        local.get $1
        local.get $2
        i32.const 1023
        i32.and
        i32.const 10
        i32.shl
        i32.const 65536
        i32.add
        local.get $4
        i32.const 1023
        i32.and
        i32.or
        local.tee $2
        i32.const 63
        i32.and
        i32.const 128
        i32.or
        i32.const 24
        i32.shl
        local.get $2
        i32.const 6
        i32.shr_u
        i32.const 63
        i32.and
        i32.const 128
        i32.or
        i32.const 16
        i32.shl
        i32.or
        local.get $2
        i32.const 12
        i32.shr_u
        i32.const 63
        i32.and
        i32.const 128
        i32.or
        i32.const 8
        i32.shl
        i32.or
        local.get $2
        i32.const 18
        i32.shr_u
        i32.const 240
        i32.or
        i32.or
        i32.store
        local.get $1
        i32.const 4
        i32.add
        local.set $1
        local.get $0
        i32.const 4
        i32.add
        local.set $0
        br $while-continue|0
       end
      end
      local.get $1
      local.get $2
      i32.const 12
      i32.shr_u
      i32.const 224
      i32.or
      local.get $2
      i32.const 6
      i32.shr_u
      i32.const 63
      i32.and
      i32.const 128
      i32.or
      i32.const 8
      i32.shl
      i32.or
      i32.store16
      local.get $1
      local.get $2
      i32.const 63
      i32.and
      i32.const 128
      i32.or
      i32.store8 offset=2
      local.get $1
      i32.const 3
      i32.add
     end
    end
    local.set $1
    local.get $0
    i32.const 2
    i32.add
    local.set $0
    br $while-continue|0
   end
  end
 )
 (func $counter/handle (param $0 i32) (param $1 i32)
  (local $2 i32)
  (local $3 i32)
  (local $4 i32)
  (local $5 i32)
  (local $6 i32)
  (local $7 i32)
  (local $8 i64)
  (local $9 i32)
  (local $10 i32)
  local.get $0
  global.get $counter/area
  call $counter/pathOf
  global.get $counter/area
  i32.load8_u
  if (result i32)
   global.get $counter/area
   i32.load offset=4
   global.get $counter/area
   i32.load offset=8
   call $~lib/string/String.UTF8.decodeUnsafe
  else
   i32.const 32
  end
  local.set $9
  i32.const 0
  local.set $0
  block $__inlined_func$~lib/string/String#indexOf$27
   i32.const 64
   call $~lib/string/String#get:length
   local.tee $3
   i32.eqz
   br_if $__inlined_func$~lib/string/String#indexOf$27
   i32.const -1
   local.set $0
   local.get $9
   call $~lib/string/String#get:length
   local.tee $2
   i32.eqz
   br_if $__inlined_func$~lib/string/String#indexOf$27
   local.get $2
   i32.const 0
   local.get $2
   i32.const 0
   i32.le_s
   select
   local.set $0
   local.get $2
   local.get $3
   i32.sub
   local.set $7
   loop $for-loop|0
    local.get $0
    local.get $7
    i32.le_s
    if
     block $__inlined_func$~lib/util/string/compareImpl$3 (result i32)
      local.get $3
      local.set $2
      i32.const 64
      local.set $5
      local.get $9
      local.get $0
      i32.const 1
      i32.shl
      i32.add
      local.set $6
      loop $while-continue|0
       local.get $2
       local.tee $4
       i32.const 1
       i32.sub
       local.set $2
       local.get $4
       if
        local.get $6
        i32.load16_u
        local.tee $4
        local.get $5
        i32.load16_u
        local.tee $10
        i32.sub
        local.get $4
        local.get $10
        i32.ne
        br_if $__inlined_func$~lib/util/string/compareImpl$3
        drop
        local.get $6
        i32.const 2
        i32.add
        local.set $6
        local.get $5
        i32.const 2
        i32.add
        local.set $5
        br $while-continue|0
       end
      end
      i32.const 0
     end
     i32.eqz
     br_if $__inlined_func$~lib/string/String#indexOf$27
     local.get $0
     i32.const 1
     i32.add
     local.set $0
     br $for-loop|0
    end
   end
   i32.const -1
   local.set $0
  end
  i32.const 1
  global.set $~argumentsLength
  i32.const 160
  call $~lib/string/String.UTF8.encode@varargs
  local.tee $2
  local.get $2
  call $~lib/arraybuffer/ArrayBuffer#get:byteLength
  global.get $counter/area
  call $counter/open
  global.get $counter/area
  i32.load8_u
  if (result i64)
   i64.const -1
  else
   global.get $counter/area
   i32.load offset=4
   i32.const 1
   global.set $~argumentsLength
   i32.const 208
   call $~lib/string/String.UTF8.encode@varargs
   local.tee $2
   local.get $2
   call $~lib/arraybuffer/ArrayBuffer#get:byteLength
   i64.const 1
   global.get $counter/area
   call $counter/increment
   global.get $counter/area
   i32.load8_u
   if (result i64)
    i64.const -1
   else
    global.get $counter/area
    i64.load offset=8
   end
  end
  call $~lib/util/number/itoa64
  local.set $3
  local.get $0
  i32.const 0
  i32.lt_s
  if (result i32)
   i32.const 32
  else
   i32.const 1
   global.set $~argumentsLength
   i32.const 32
   local.set $2
   local.get $9
   call $~lib/string/String#get:length
   local.tee $4
   local.get $0
   i32.const 1
   i32.add
   local.tee $0
   i32.const 0
   i32.lt_s
   if (result i32)
    local.get $0
    local.get $4
    i32.add
    local.tee $0
    i32.const 0
    local.get $0
    i32.const 0
    i32.gt_s
    select
   else
    local.get $0
    local.get $4
    local.get $0
    local.get $4
    i32.lt_s
    select
   end
   local.tee $0
   i32.sub
   local.tee $4
   i32.const 0
   i32.gt_s
   if
    local.get $4
    i32.const 1
    i32.shl
    local.tee $4
    i32.const 2
    call $~lib/rt/stub/__new
    local.tee $2
    local.get $9
    local.get $0
    i32.const 1
    i32.shl
    i32.add
    local.get $4
    memory.copy
   end
   call $counter/newFields
   call $counter/newRequest
   local.set $0
   i32.const 1
   global.set $~argumentsLength
   local.get $0
   i32.const 1
   local.get $2
   call $~lib/string/String.UTF8.encode@varargs
   local.tee $2
   local.get $2
   call $~lib/arraybuffer/ArrayBuffer#get:byteLength
   call $counter/setAuthority
   drop
   local.get $0
   i32.const 1
   i32.const 0
   i32.const 0
   i32.const 0
   call $counter/setScheme
   drop
   local.get $0
   i32.const 0
   i32.const 0
   global.get $counter/area
   call $counter/send
   block $__inlined_func$counter/request$30 (result i32)
    i32.const 368
    global.get $counter/area
    i32.load8_u
    br_if $__inlined_func$counter/request$30
    drop
    global.get $counter/area
    i32.load offset=8
    local.tee $0
    call $counter/subscribe
    call $counter/block
    local.get $0
    global.get $counter/area
    call $counter/get
    i32.const 416
    global.get $counter/area
    i32.load8_u offset=16
    br_if $__inlined_func$counter/request$30
    drop
    global.get $counter/area
    i32.load offset=24
    global.get $counter/area
    call $counter/consume
    global.get $counter/area
    i32.load offset=4
    global.get $counter/area
    call $counter/inputOf
    global.get $counter/area
    i32.load offset=4
    i64.const 1000
    global.get $counter/area
    call $counter/read
    global.get $counter/area
    i32.load8_u
    if (result i32)
     i32.const 32
    else
     global.get $counter/area
     i32.load offset=4
     global.get $counter/area
     i32.load offset=8
     call $~lib/string/String.UTF8.decodeUnsafe
    end
   end
  end
  local.set $0
  i32.const 0
  local.get $3
  call $~lib/staticarray/StaticArray<~lib/string/String>#__uset
  i32.const 2
  local.get $0
  call $~lib/staticarray/StaticArray<~lib/string/String>#__uset
  block $__inlined_func$~lib/util/string/joinReferenceArray<~lib/string/String>$5 (result i32)
   i32.const 0
   local.set $2
   i32.const 32
   i32.const 124
   i32.load
   i32.const 2
   i32.shr_u
   i32.const 1
   i32.sub
   local.tee $3
   i32.const 0
   i32.lt_s
   br_if $__inlined_func$~lib/util/string/joinReferenceArray<~lib/string/String>$5
   drop
   local.get $3
   i32.eqz
   if
    i32.const 128
    i32.load
    local.tee $0
    call $~lib/string/String.__ne
    if (result i32)
     local.get $0
    else
     i32.const 32
    end
    br $__inlined_func$~lib/util/string/joinReferenceArray<~lib/string/String>$5
   end
   i32.const 32
   local.set $0
   i32.const 32
   call $~lib/string/String#get:length
   local.set $4
   loop $for-loop|00
    local.get $2
    local.get $3
    i32.lt_s
    if
     local.get $2
     i32.const 2
     i32.shl
     i32.const 128
     i32.add
     i32.load
     local.tee $5
     call $~lib/string/String.__ne
     if
      local.get $0
      local.get $5
      call $~lib/string/String.__concat
      local.set $0
     end
     local.get $4
     if
      local.get $0
      i32.const 32
      call $~lib/string/String.__concat
      local.set $0
     end
     local.get $2
     i32.const 1
     i32.add
     local.set $2
     br $for-loop|00
    end
   end
   local.get $3
   i32.const 2
   i32.shl
   i32.const 128
   i32.add
   i32.load
   local.tee $2
   call $~lib/string/String.__ne
   if (result i32)
    local.get $0
    local.get $2
    call $~lib/string/String.__concat
   else
    local.get $0
   end
  end
  i32.const 1
  global.set $~argumentsLength
  call $~lib/string/String.UTF8.encode@varargs
  local.set $0
  call $counter/newFields
  call $counter/newResponse
  local.tee $2
  global.get $counter/area
  call $counter/bodyOf
  global.get $counter/area
  i32.load offset=4
  local.tee $3
  global.get $counter/area
  call $counter/streamOf
  global.get $counter/area
  i32.load offset=4
  local.set $4
  local.get $1
  i32.const 0
  local.get $2
  i32.const 0
  i64.const 0
  i32.const 0
  i32.const 0
  i32.const 0
  i32.const 0
  call $counter/setResponse
  local.get $4
  local.get $0
  local.get $0
  call $~lib/arraybuffer/ArrayBuffer#get:byteLength
  global.get $counter/area
  call $counter/write
  local.get $4
  call $counter/dropOutput
  local.get $3
  i32.const 0
  i32.const 0
  global.get $counter/area
  call $counter/finish
 )
 (func $counter/cabi_realloc (param $0 i32) (param $1 i32) (param $2 i32) (param $3 i32) (result i32)
  local.get $3
  call $~lib/rt/stub/__alloc
 )
)
