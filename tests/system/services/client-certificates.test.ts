/** Debian's registry, which accepts only clients with a certificate of an authority: skopeo puts an image there, the runtime pulls it. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '@selvedge/service-kit/testing'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { layoutFiles, tarOf } from '../../harness/archives.ts'
import { makeAuthority } from '../../harness/authority.ts'
import { findProgram, needs } from '../../harness/installed.ts'
import { stepLimitMs } from '../../harness/limits.ts'
import { temporaryFolder } from '../../harness/processes.ts'
import { type Services, startServices } from '../../harness/services.ts'

const files = layoutFiles({ layers: [tarOf([{ path: 'index.js', content: 'x' }])] })

describe('a registry that wants a certificate', needs('docker-registry', 'skopeo', 'openssl'), () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let registry: ChildProcess
  let services: Services
  let host: string
  const at = (name: string) => join(folder.path, name)
  const write = (name: string, content: string | Uint8Array) => {
    mkdirSync(join(at(name), '..'), { recursive: true })
    writeFileSync(at(name), content)
    return at(name)
  }
  const deploy = () =>
    services.runtime().deployImage({ edgeAccessToken: services.token, source: `${host}/team/app:1` })

  beforeAll(async () => {
    folder = await temporaryFolder()
    const authority = makeAuthority(folder.path, 'Example CA')
    const [server, device] = [authority.issue('127.0.0.1'), authority.issue('device-1')]
    const port = await freePort()
    host = `127.0.0.1:${port}`
    const tls = `{ certificate: ${write('server.crt', server.cert)}, key: ${write('server.key', server.key)}, clientcas: [${authority.path}] }`
    const storage = `{ filesystem: { rootdirectory: ${at('storage')} } }`
    const config = `version: 0.1\nstorage: ${storage}\nhttp:\n  addr: ${host}\n  tls: ${tls}\n`
    registry = spawn(findProgram('docker-registry')!, ['serve', write('registry.yml', config)], {
      stdio: 'ignore',
    })
    for (const { path, content } of files) write(`image/${path}`, Buffer.from(content!))
    write('client/client.cert', device.cert)
    write('client/client.key', device.key)
    execFileSync('cp', [authority.path, at('client/ca.crt')])
    const policy = write('policy.json', '{"default":[{"type":"insecureAcceptAnything"}]}')
    const copy = [
      'copy',
      `oci:${at('image')}`,
      '--dest-cert-dir',
      at('client'),
      `docker://${host}/team/app:1`,
    ]
    const isStored = () => {
      try {
        execFileSync(findProgram('skopeo')!, ['--policy', policy, ...copy], { stdio: 'ignore' })
        return true
      } catch {
        return false
      }
    }
    await vi.waitUntil(isStored, { timeout: stepLimitMs, interval: 100 })
    const pem = write('device.pem', device.cert + device.key)
    services = await startServices({
      args: [`--network.caFile=${authority.path}`, `--network.clientCertificates=${host}=${pem}`],
    })
  })
  afterAll(async () => {
    registry?.kill()
    await services?.stop()
    await folder?.remove()
  })

  it('gets that of the settings', async () => {
    expect(await deploy()).toMatchObject({ name: 'app' })
  })

  it('is an error with the setting when the file cannot be used', async () => {
    write('device.pem', 'nothing')
    await expect(deploy()).rejects.toThrow('has to have a certificate and its key, as PEM')
  })

  it('is an error with the setting when it is not shown one', async () => {
    await services.stop()
    services = await startServices({ args: [`--network.caFile=${at('Example CA.pem')}`] })
    await expect(deploy()).rejects.toThrow('wants a certificate of its client')
  })
})
