/** Debian's registry, which accepts only clients with a certificate of an authority: skopeo puts an image there, the runtime pulls it. */
import { type ChildProcess, execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { layoutFiles, tarOf } from '../../harness/archives.ts'
import { makeAuthority } from '../../harness/authority.ts'
import {
  type CloudDevice,
  type CloudHost,
  spawnIn,
  startCloudDevice,
  startCloudHost,
} from '../../harness/cloud-host.ts'
import { findProgram, needs } from '../../harness/installed.ts'
import { stepLimitMs } from '../../harness/limits.ts'
import { makeNetworks, type Networks } from '../../harness/networks.ts'
import { temporaryFolder } from '../../harness/processes.ts'

const addresses = { device: '10.79.1.2', cloud: '10.79.1.3' }
const files = layoutFiles({ layers: [tarOf([{ path: 'index.js', content: 'x' }])] })

describe(
  'a registry that wants a certificate',
  needs('networks', 'docker-registry', 'skopeo', 'openssl'),
  () => {
    let folder: Awaited<ReturnType<typeof temporaryFolder>>
    let networks: Networks
    let cloud: CloudHost
    let registry: ChildProcess
    let device: CloudDevice | undefined
    /** Paths of the authorities, and of the certificate. */
    let both: string
    let pem: string
    const host = `${addresses.cloud}:5000`
    const at = (name: string) => join(folder.path, name)
    const write = (name: string, content: string | Uint8Array) => {
      mkdirSync(join(at(name), '..'), { recursive: true })
      writeFileSync(at(name), content)
      return at(name)
    }
    /** Starts the device again, on the same state. */
    async function start(...args: string[]): Promise<void> {
      await device?.program.stop()
      device = await startCloudDevice(cloud, networks.spaceOf('device'), at('device'), args)
    }
    const deploy = () =>
      device!.runtime.deployImage({ edgeAccessToken: device!.token, source: `${host}/team/app:1` })

    beforeAll(async () => {
      folder = await temporaryFolder()
      networks = makeNetworks({ device: { lan: addresses.device }, cloud: { lan: addresses.cloud } })
      cloud = await startCloudHost(networks.spaceOf('cloud'), addresses.cloud, folder.path)
      const authority = makeAuthority(folder.path, 'Example CA')
      const [server, own] = [authority.issue(addresses.cloud), authority.issue('device-1')]
      const tls = `{ certificate: ${write('server.crt', server.cert)}, key: ${write('server.key', server.key)}, clientcas: [${authority.path}] }`
      const storage = `{ filesystem: { rootdirectory: ${at('storage')} } }`
      const config = `version: 0.1\nstorage: ${storage}\nhttp:\n  addr: ${host}\n  tls: ${tls}\n`
      const serve = [findProgram('docker-registry')!, 'serve', write('registry.yml', config)] as const
      registry = spawnIn(networks.spaceOf('cloud'), ...serve)
      for (const { path, content } of files) write(`image/${path}`, Buffer.from(content!))
      write('client/client.cert', own.cert)
      write('client/client.key', own.key)
      execFileSync('cp', [authority.path, at('client/ca.crt')])
      const policy = write('policy.json', '{"default":[{"type":"insecureAcceptAnything"}]}')
      const copy = [
        'copy',
        `oci:${at('image')}`,
        '--dest-cert-dir',
        at('client'),
        `docker://${host}/team/app:1`,
      ]
      const inCloud = ['netns', 'exec', networks.spaceOf('cloud')]
      const isStored = () => {
        try {
          execFileSync('ip', [...inCloud, findProgram('skopeo')!, '--policy', policy, ...copy], {
            stdio: 'ignore',
          })
          return true
        } catch {
          return false
        }
      }
      await vi.waitUntil(isStored, { timeout: stepLimitMs, interval: 100 })
      both = write('both.pem', readFileSync(cloud.caFile, 'utf8') + readFileSync(authority.path, 'utf8'))
      pem = write('device.pem', own.cert + own.key)
    })
    afterAll(async () => {
      await device?.program.stop()
      registry?.kill()
      await cloud?.stop()
      networks?.remove()
      await folder?.remove()
    })

    it('gets that of the settings', async () => {
      await start(`--network.caFile=${both}`, `--network.clientCertificates=${host}=${pem}`)
      expect(await deploy()).toMatchObject({ name: 'app' })
    })

    it('is an error with the setting when the file cannot be used', async () => {
      write('device.pem', 'nothing')
      await expect(deploy()).rejects.toThrow('has to have a certificate and its key, as PEM')
    })

    it('is an error with the setting when it is not shown one', async () => {
      await start(`--network.caFile=${both}`)
      await expect(deploy()).rejects.toThrow('wants a certificate of its client')
    })
  },
)
