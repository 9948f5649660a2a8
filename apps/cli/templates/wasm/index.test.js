import assert from 'node:assert/strict'
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { WASI } from 'node:wasi'

test('answers with its environment, as CGI programs do', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'wasm-'))
  try {
    const output = join(folder, 'stdout')
    const env = { REQUEST_METHOD: 'GET', PATH_INFO: '/a' }
    const wasi = new WASI({ version: 'preview1', env, stdout: openSync(output, 'w') })
    const module = await WebAssembly.compile(readFileSync(new URL('index.wasm', import.meta.url)))
    wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject()))
    const [head, body] = readFileSync(output, 'utf8').split('\n\n')
    assert.equal(head, 'Content-Type: text/plain')
    assert.equal(body, 'hello from wasm\nREQUEST_METHOD=GET\nPATH_INFO=/a\n')
  } finally {
    rmSync(folder, { recursive: true })
  }
})
