/** Debian's registry of images with TLS in a namespace, with an image that skopeo puts there. */
import { type ChildProcess, execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { vi } from 'vitest'
import { layoutFiles, tarOf } from './archives.ts'
import { spawnIn } from './cloud-host.ts'
import { findProgram } from './installed.ts'
import { stepLimitMs } from './limits.ts'

export const registryNeeds = ['docker-registry', 'skopeo'] as const

interface RegistryTls {
  /** Paths of its certificate and key. */
  readonly certificate: string
  readonly key: string
  /** Path of the authority of its certificate. */
  readonly authority: string
  /** Paths: clients need a certificate of this authority, and skopeo shows this one. */
  readonly client?: { readonly authority: string; readonly certificate: string; readonly key: string }
}

/**
 * @param space name of the namespace
 * @param host address and port
 * @param folder for its files
 * @returns the registry, which has the function `team/app:1` of one line
 */
export async function startDockerRegistry(
  space: string,
  host: string,
  folder: string,
  { certificate, key, authority, client }: RegistryTls,
): Promise<ChildProcess> {
  const write = (name: string, content: string | Uint8Array) => {
    mkdirSync(join(folder, name, '..'), { recursive: true })
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  const clients = client ? `, clientcas: [${client.authority}]` : ''
  const storage = `{ filesystem: { rootdirectory: ${join(folder, 'storage')} } }`
  const tls = `{ certificate: ${certificate}, key: ${key}${clients} }`
  const config = `version: 0.1\nstorage: ${storage}\nhttp:\n  addr: ${host}\n  tls: ${tls}\n`
  const registry = spawnIn(space, findProgram('docker-registry')!, 'serve', write('registry.yml', config))
  const files = layoutFiles({ layers: [tarOf([{ path: 'index.js', content: 'x' }])] })
  for (const { path, content } of files) write(`image/${path}`, Buffer.from(content!))
  const policy = write('policy.json', '{"default":[{"type":"insecureAcceptAnything"}]}')
  write('client/ca.crt', readFileSync(authority))
  if (client) write('client/client.cert', readFileSync(client.certificate))
  if (client) write('client/client.key', readFileSync(client.key))
  const shown = join(folder, 'client')
  const copy = [
    'copy',
    `oci:${join(folder, 'image')}`,
    '--dest-cert-dir',
    shown,
    `docker://${host}/team/app:1`,
  ]
  const isStored = () => {
    try {
      const args = ['netns', 'exec', space, findProgram('skopeo')!, '--policy', policy, ...copy]
      execFileSync('ip', args, { stdio: 'ignore' })
      return true
    } catch {
      return false
    }
  }
  await vi.waitUntil(isStored, { timeout: stepLimitMs, interval: 100 })
  return registry
}
