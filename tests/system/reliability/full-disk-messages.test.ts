/** What people are shown on a full disk: each message names the disk and what to do, and nothing is lost. */
import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { identityPaths } from '@selvedge/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { functionImage, writeFile } from '../../harness/archives.ts'
import { cliEnvOf, runCli } from '../../harness/cli.ts'
import { type ConsoleSession, enterByLink, projectWith, reasonOf } from '../../harness/console.ts'
import { createNodeKey } from '../../harness/device.ts'
import { adminOf } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { temporaryFolder } from '../../harness/processes.ts'
import { type Services, startServices } from '../../harness/services.ts'
import { type FaultyRegistry, startFaultyRegistry } from '../pulls/registry.ts'

const megabyte = 1024 * 1024
const source = `export default { fetch: () => new Response('x') }`

describe('on a full disk', needs('mounts'), () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let files: Awaited<ReturnType<typeof temporaryFolder>>
  let services: Services
  let env: Record<string, string>
  let basePath: string
  let registry: FaultyRegistry
  let owner: ConsoleSession

  beforeAll(async () => {
    ;[folder, files] = [await temporaryFolder(), await temporaryFolder()]
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m,mode=0700', 'tmpfs', folder.path])
    registry = await startFaultyRegistry({ name: 'full', fault: () => ({}), layerBytes: [300_000] })
    const insecure = `--images.insecure=${registry.reference.split('/')[0]}`
    services = await startServices({
      args: ['--images.reserve=0', insecure],
      env: { SELVEDGE_STATE: folder.path },
    })
    const { email } = services.developer
    const { link } = await adminOf(folder.path)['account.link']({ email })
    owner = await enterByLink(services.stack.identity.url, link, email)
    basePath = (await services.deploy('before', source)).basePath
    env = {
      ...cliEnvOf({ state: folder.path }),
      SELVEDGE_ACCESS_TOKEN: services.token,
      XDG_CONFIG_HOME: files.path,
    }
    writeFile(files.path, 'image.tar', functionImage(source.padEnd(200_000, '/'), 'later'))
    fill()
  })
  afterAll(async () => {
    rmSync(join(folder.path, 'filler'), { force: true })
    await services?.stop()
    registry?.stop()
    execFileSync('umount', ['-l', folder.path])
    for (const each of [folder, files]) await each.remove()
  })

  function fill(): void {
    try {
      writeFileSync(join(folder.path, 'filler'), Buffer.alloc(24 * megabyte))
    } catch {
      // Full, as it should be.
    }
  }
  const run = (...args: readonly string[]) => runCli(args, env)
  const image = () => join(files.path, 'image.tar')

  it.each<[what: string, args: () => string[], answer: () => string[]]>([
    [
      'an image that is deployed',
      () => ['image', 'deploy', image()],
      () => ['(storage_full)', 'hint: Remove images', 'free space on the disk of the state folder'],
    ],
    [
      'an image of a registry',
      () => ['image', 'deploy', registry.reference],
      () => ['(storage_full)', 'hint: Remove images', 'free space on the disk of the state folder'],
    ],
    [
      'a change of the database',
      () => ['admin', 'enrolment', 'create'],
      () => ['the disk is full (storage_full', 'hint: Free space on the disk that holds the state folder.'],
    ],
    [
      'a backup',
      () => ['admin', 'store', 'backup', join(folder.path, 'backup')],
      () => [
        `${folder.path}/identity/identity.db`,
        'disk is full',
        'is written there first, and needs as much room',
      ],
    ],
    [
      'a check of the machine',
      () => ['doctor', '--production'],
      () => [`0.0 GB are free on the disk of ${folder.path}`, 'a full disk refuses changes', 'sudo du -xh'],
    ],
  ])('%s names the disk, and what to do', async (_, args, answer) => {
    const { code, out, errors } = await run(...args())
    expect(code).toBe(1)
    for (const part of answer()) expect(out + errors).toContain(part)
  })

  it('the audit log is shown, and has no entry of a change that the disk refused', async () => {
    const actions = async () => (await owner.api['audit.list']({ before: null })).map(({ action }) => action)
    const before = await actions()
    expect(before.length).toBeGreaterThan(0)
    expect(await reasonOf(owner.api['project.create'](projectWith({ name: 'later' })))).toBe('storage_full')
    expect(await actions()).toEqual(before)
    rmSync(join(folder.path, 'filler'))
    expect(await reasonOf(owner.api['project.create'](projectWith({ name: 'later' })))).toBe('accepted')
    expect(await actions()).toEqual(['project.create', ...before])
    fill()
  })

  it('a device that enrols is to come back, and has the ID of the line in the log', async () => {
    const key = createNodeKey()
    const url = services.stack.identity.url + identityPaths.edgeToken
    const node = { name: 'n', hmac_key: key.jwk }
    const send = (nonce?: string) =>
      fetch(url, { method: 'POST', headers: { DPoP: key.prove(url, { nonce, node }) } })
    const { headers } = await send()
    const answer = await send(headers.get('dpop-nonce')!)
    expect([answer.status, await answer.json()]).toEqual([
      503,
      {
        error: 'temporarily_unavailable',
        error_description: expect.stringMatching(
          /^storage_full: the disk is full; the log has the cause under \S+$/,
        ),
      },
    ])
  })

  it('nothing is lost, and all of it works again with room', async () => {
    rmSync(join(folder.path, 'filler'))
    expect((await services.call(basePath)).text).toBe('x')
    for (const args of [
      ['image', 'deploy', image()],
      ['image', 'deploy', registry.reference],
      ['admin', 'enrolment', 'create'],
      ['admin', 'store', 'backup', join(folder.path, 'backup')],
    ])
      expect(await run(...args)).toMatchObject({ code: 0 })
  })
})
