/** Two runtimes with the default state folder, `./.selvedge`, each started in a folder of its own. */
import type { RuntimeClient } from '@selvedge/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { functionImage, writeFile } from '../../harness/archives.ts'
import { cgiImage } from '../../harness/cgi-image.ts'
import { accessToken, createDeveloper, type Developer, runtimeOf } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { type Podman, podmanNeeds, startPodman } from '../../harness/podman.ts'
import { type Stack, startProgram, startStack, temporaryFolder } from '../../harness/processes.ts'
import { callUrl } from '../../harness/services.ts'

const counting = 'let count = 0\nexport default { fetch() { return new Response(String(++count)) } }'

let stack: Stack
let developer: Developer
beforeAll(async () => {
  stack = await startStack()
  developer = await createDeveloper(stack.state)
})
afterAll(() => stack?.stop())

interface Device {
  readonly client: RuntimeClient
  readonly token: string
  /** Asks the service "same", which both have. */
  call(): Promise<string>
  deploy(image: Buffer): Promise<unknown>
  again(): Promise<void>
  stop(): Promise<void>
}

async function startDevice(args: readonly string[] = []): Promise<Device> {
  const folder = await temporaryFolder()
  const env = {
    SELVEDGE_STATE: './.selvedge',
    SELVEDGE_RUNTIME_PORT: '0',
    SELVEDGE_IDENTITY_URL: stack.identity.url,
    SELVEDGE_DISCOVERY_URL: stack.discovery.url,
  }
  const start = () => startProgram('runtime', env, args, { cwd: folder.path })
  let program = await start()
  const token = await accessToken({ identity: stack.identity, runtime: program }, developer)
  const client = runtimeOf({ runtime: program })
  await client.associateAccount({ edgeAccessToken: token })
  let path = ''
  return {
    client,
    token,
    call: async () => (await callUrl(program.url + path, { token })).text,
    async deploy(image) {
      const source = writeFile(`${folder.path}/.selvedge/archives`, 'same.tar', image)
      const { id } = await client.deployImage({ edgeAccessToken: token, source })
      const spec = { name: 'same', image: id, env: { 'MCM.IDLE_SEC': '0' } }
      path = `${(await client.deployContainer({ edgeAccessToken: token, spec })).basePath}`
    },
    async again() {
      await program.stop('SIGKILL')
      program = await start()
    },
    async stop() {
      // A container outlives its runtime, which would find it again: this one does not come back.
      const own = runtimeOf({ runtime: program })
      for (const { id } of await own.getContainers({ edgeAccessToken: token }))
        await own.removeContainer({ edgeAccessToken: token, id })
      await program.stop()
      await folder.remove()
    },
  }
}

it('a function goes on, with its memory, while the other runtime starts, is killed, starts again and stops', async () => {
  const first = await startDevice()
  await first.deploy(functionImage(counting, 'same'))
  expect(await first.call()).toBe('1')
  const second = await startDevice()
  await second.deploy(functionImage(counting, 'same'))
  expect(await second.call()).toBe('1')
  expect(await first.call()).toBe('2')
  await second.again()
  expect(await first.call()).toBe('3')
  await second.stop()
  expect(await first.call()).toBe('4')
  await first.stop()
})

describe('an OCI container', needs(...podmanNeeds, 'busybox'), () => {
  let podman: Podman
  beforeAll(async () => {
    podman = await startPodman()
  })
  afterAll(() => podman?.stop())

  it('goes on while the other runtime starts, is killed, starts again and stops', async () => {
    const image = cgiImage({ name: 'same', script: 'echo here' })
    const first = await startDevice([`--oci.socket=${podman.socket}`])
    const stateOf = async () => {
      const [record] = await first.client.getContainers({ edgeAccessToken: first.token })
      return [record?.state, record?.restarts, record?.startedAt]
    }
    await first.deploy(image)
    const before = await stateOf()
    expect(before).toEqual(['running', 0, expect.any(String)])
    const second = await startDevice([`--oci.socket=${podman.socket}`])
    await second.deploy(image)
    await second.again()
    await second.stop()
    expect(await stateOf()).toEqual(before)
    await first.stop()
  })
})
