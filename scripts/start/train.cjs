'use strict'
/**
 * Runs a program until it is ready and has answered `getMe`, then writes what V8 has compiled of it: only the code of a start. What is
 * compiled must depend neither on time nor on the machine: no timer ends, its services never answer, and it finds no other program.
 */
const { chmodSync, readFileSync, writeFileSync } = require('node:fs')
const { request } = require('node:http')
const { createServer } = require('node:net')
const { dirname, join } = require('node:path')
const v8 = require('node:v8')
const { Script } = require('node:vm')

/** What V8 does at some time: it forgets code that has not run for long, and marks what it has optimized. */
const timedFlags = ['flush-bytecode', 'sparkplug', 'maglev', 'opt']
const never = 2 ** 31 - 1

const path = process.argv[2]
const folder = dirname(path)
const main = join(folder, 'main.cjs')
// The name is in the cache; a program gets its own name when it is loaded.
const script = new Script(readFileSync(`${path}.js`, 'latin1'), { filename: 'program.js' })

/** V8 takes a cache only with the flags that it was made with. The program sets its own after its start; here it does not. */
const { setFlagsFromString } = v8
v8.setFlagsFromString = () => undefined
for (const each of timedFlags) setFlagsFromString(`--no-${each}`)
for (const name of ['setTimeout', 'setInterval']) {
  const start = globalThis[name]
  globalThis[name] = (callback, delay, ...given) => start(callback, delay > 0 ? never : delay, ...given)
}
delete process.env.PATH

function writeCache() {
  for (const each of timedFlags) setFlagsFromString(`--${each}`)
  writeFileSync(`${path}.cache`, script.createCachedData())
  chmodSync(`${path}.cache`, 0o644)
}

/** Asks as a client does, and writes the cache after the answer. */
function ask({ ready: { url } }) {
  const headers = { 'Content-Type': 'application/json' }
  const call = request(`${url}/jsonrpc/v1`, { method: 'POST', headers, agent: false }, (response) => {
    response.resume().on('end', () => {
      if (response.statusCode === 200) writeCache()
      else process.stderr.write(`getMe was answered with ${response.statusCode}\n`)
      process.exit(response.statusCode === 200 ? 0 : 1)
    })
  })
  call.end('{"jsonrpc":"2.0","method":"getMe","id":1}')
}

// As the stack starts it: it tells its parent when it is ready.
process.send = ask
process.connected = true
process.argv = [process.argv[0], main, '--linkLocal.enabled=false']
const silent = createServer().listen(0, '127.0.0.1', () => {
  const services = `http://127.0.0.1:${silent.address().port}`
  process.env.SELVEDGE_IDENTITY_URL = services
  process.env.SELVEDGE_DISCOVERY_URL = services
  script.runInThisContext()({}, require, module, main, folder)
})
