/** Debian's registry, which accepts only clients with a certificate of an authority: skopeo puts an image there, the runtime pulls it. */
import type { ChildProcess } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeAuthority } from '../../harness/authority.ts'
import {
  type CloudDevice,
  type CloudHost,
  startCloudDevice,
  startCloudHost,
} from '../../harness/cloud-host.ts'
import { registryNeeds, startDockerRegistry } from '../../harness/docker-registry.ts'
import { needs } from '../../harness/installed.ts'
import { makeNetworks, type Networks } from '../../harness/networks.ts'
import { temporaryFolder } from '../../harness/processes.ts'

const addresses = { device: '10.79.1.2', cloud: '10.79.1.3' }

describe('a registry that wants a certificate', needs('networks', ...registryNeeds, 'openssl'), () => {
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
  const write = (name: string, content: string) => {
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
    registry = await startDockerRegistry(networks.spaceOf('cloud'), host, at('registry'), {
      ...{ certificate: write('registry.crt', server.cert), key: write('registry.key', server.key) },
      authority: authority.path,
      client: {
        authority: authority.path,
        certificate: write('client.crt', own.cert),
        key: write('client.key', own.key),
      },
    })
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
})
