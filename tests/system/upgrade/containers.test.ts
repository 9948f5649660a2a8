/** OCI containers in an upgrade: the runtime stops, another one starts, and the container answers as if nothing had happened. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeFile } from '../../harness/archives.ts'
import { cgiImage } from '../../harness/cgi-image.ts'
import { accessToken, createDeveloper, type Developer, runtimeOf } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { type Podman, podmanNeeds, startPodman } from '../../harness/podman.ts'
import {
  freePorts,
  type Program,
  root,
  type Stack,
  startProgram,
  startStack,
} from '../../harness/processes.ts'
import { callUrl } from '../../harness/services.ts'

describe('an OCI container', needs(...podmanNeeds, 'busybox'), () => {
  let folder: string
  let podman: Podman
  let stack: Stack
  let developer: Developer
  let runtime: Program | undefined
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'selvedge-upgrade-'))
    for (const version of ['1.0.0', '1.1.0']) {
      const checkout = join(folder, 'releases', version, 'runtime/apps/runtime')
      mkdirSync(checkout, { recursive: true })
      cpSync(join(root, 'apps/runtime/dist'), join(checkout, 'dist'), { recursive: true })
    }
    // The Deno of a clone is in node_modules.
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    podman = await startPodman()
    stack = await startStack()
    developer = await createDeveloper(stack.state)
  })
  afterAll(async () => {
    await runtime?.stop()
    await stack?.stop()
    await podman?.stop()
    rmSync(folder, { recursive: true })
  })

  /** Chooses a release, stops the runtime as its service does, and starts it in that release. */
  async function startIn(version: string) {
    rmSync(join(folder, 'current'), { force: true })
    symlinkSync(`releases/${version}`, join(folder, 'current'))
    await runtime?.stop()
    runtime = await startProgram(
      'runtime',
      {
        ...freePorts,
        SELVEDGE_STATE: join(folder, 'state'),
        SELVEDGE_IDENTITY_URL: stack.identity.url,
        SELVEDGE_DISCOVERY_URL: stack.discovery.url,
      },
      [`--oci.socket=${podman.socket}`],
      { checkout: join(folder, 'releases', version, 'runtime') },
    )
    return accessToken({ identity: stack.identity, runtime }, developer)
  }
  const containers = () => podman.run('ps', '--format', '{{.ID}} {{.StartedAt}}').trim()
  const call = async (path: string, token: string) =>
    (await callUrl(runtime!.url + path, { token })).text.trim()

  it('continues through an upgrade and a rollback, and ends when the runtime is only stopped', async () => {
    let token = await startIn('1.0.0')
    const client = () => runtimeOf({ runtime: runtime! })
    await client().associateAccount({ edgeAccessToken: token })
    const image = cgiImage({ name: 'lasting', script: 'echo lasting', files: [] })
    const source = writeFile(folder, 'lasting.tar', image)
    const { id } = await client().deployImage({ edgeAccessToken: token, source })
    const spec = { name: 'lasting', image: id, env: {} }
    const { basePath } = await client().deployContainer({ edgeAccessToken: token, spec })
    expect(await call(`${basePath}/cgi-bin/run`, token)).toBe('lasting')
    const before = containers()
    for (const version of ['1.1.0', '1.0.0']) {
      token = await startIn(version)
      expect(await call(`${basePath}/cgi-bin/run`, token)).toBe('lasting')
      expect(containers()).toBe(before)
    }
    await runtime!.stop()
    expect(containers()).toBe('')
  })
})
