import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

test('the server of the image answers with its page', async () => {
  const port = await freePort()
  const rootfs = join(import.meta.dirname, 'rootfs')
  const args = ['httpd', '-f', '-p', `127.0.0.1:${port}`, '-h', join(import.meta.dirname, 'www')]
  const server = spawn(join(rootfs, 'bin/busybox'), args, { stdio: 'ignore' })
  const exited = once(server, 'exit')
  try {
    assert.match(await read(`http://127.0.0.1:${port}/`), /hello from the edge/)
  } finally {
    server.kill()
    await exited
  }
})

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  return port
}

/** The server needs a moment to start. */
async function read(url) {
  for (let left = 100; ; left--) {
    try {
      return await (await fetch(url)).text()
    } catch (cause) {
      if (left === 0) throw cause
      await sleep(50)
    }
  }
}
