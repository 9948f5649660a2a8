/** A function has files of its own in its memory, and nothing of the device through them. */
import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packFolder } from '../../../apps/cli/src/archive/pack.ts'
import { writeFile } from '../../harness/archives.ts'
import { needs } from '../../harness/installed.ts'
import { type Services, startServices } from '../../harness/services.ts'
import { fileAttacker, fileEscapes } from './escapes-files.ts'

let services: Services
beforeAll(async () => {
  services = await startServices()
})
afterAll(() => services.stop())

const open = { 'MCM.ACCESS': 'public', 'MCM.IDLE_SEC': '0' }

describe('a hostile function with files can’t', needs('bwrap'), () => {
  let base: string
  beforeAll(async () => {
    const { basePath, isolation } = await services.deploy('attacker', fileAttacker, open)
    expect(isolation).toEqual(expect.arrayContaining(['language permissions', 'namespaces']))
    base = basePath
  })

  it.each(fileEscapes.map((each, at) => ({ ...each, at })))('$name', async ({ at, answer }) => {
    const { status, text } = await services.call(`${base}/${at}`)
    expect([status, text.replace(/^got /, '')]).toEqual([200, expect.stringMatching(answer)])
  })

  it('and has left nothing on the device, in one instance', async () => {
    expect(existsSync('/tmp/large0') || existsSync('/tmp/many0')).toBe(false)
    const [record] = await services.runtime().getContainers({ edgeAccessToken: services.token })
    expect(record).toMatchObject({ name: 'attacker', restarts: 0 })
  })
})

describe('a bundled function', () => {
  it('imports them by name, with fs/promises, os and dns, also in CommonJS, and reads its own files', async () => {
    const folder = `${services.stack.state}/uses-files`
    writeFile(folder, 'package.json', '{"name":"uses-files","type":"module"}')
    writeFile(
      folder,
      'index.js',
      `import fs, { existsSync, createReadStream, readFileSync, renameSync, unlinkSync, writeFileSync } from 'fs'
      import * as promises from 'node:fs/promises'
      import { tmpdir } from 'os'
      import { lookup } from 'node:dns'
      import { own, read } from './lib/read.cjs'
      export default { async fetch() {
        await promises.writeFile(tmpdir() + '/a', 'hello ')
        fs.appendFileSync('/tmp/a', 'files')
        fs.writeSync(1, 'to the log\\n')
        const [text] = await createReadStream('/tmp/a', 'utf8').toArray()
        const { code } = await new Promise((resolve) => lookup('localhost', resolve))
        const error = (call) => { try { call(); return 'done' } catch (cause) { return cause.code } }
        const data = new URL('./data/greeting.txt', import.meta.url)
        const changes = [() => writeFileSync(data, ''), () => unlinkSync(data), () => renameSync(data, '/tmp/b'),
          () => writeFileSync('/data/other', ''), () => read('/data/../../etc/hostname')].map(error)
        return Response.json([text, read('/tmp/a'), existsSync('/etc'), code, process.getuid(), import.meta.url,
          readFileSync(data, 'utf8'), own, changes])
      } }`,
    )
    writeFile(
      `${folder}/lib`,
      'read.cjs',
      `exports.read = (path) => require('fs').readFileSync(path, 'utf8')
      exports.own = JSON.parse(exports.read(__dirname + '/own.json'))`,
    )
    writeFile(`${folder}/lib`, 'own.json', '{"beside":true}')
    writeFile(`${folder}/data`, 'greeting.txt', 'greetings')
    const { archive } = await packFolder(folder, { name: 'uses-files' })
    const { id: image } = await services.deployImage(archive)
    const { basePath, id } = await services
      .runtime()
      .deployContainer({ edgeAccessToken: services.token, spec: { name: 'uses-files', image, env: open } })
    const { text } = await services.call(basePath)
    expect(JSON.parse(text)).toEqual([
      'hello files',
      'hello files',
      false,
      'ENOTFOUND',
      65_534,
      'file:///index.js',
      'greetings',
      { beside: true },
      ['EROFS', 'EROFS', 'EROFS', 'EROFS', 'ENOENT'],
    ])
    const query = { edgeAccessToken: services.token, id, tail: 10 }
    await expect
      .poll(async () => (await services.runtime().getContainerLogs(query)).lines.map((line) => line.text))
      .toContain('to the log')
  })
})
