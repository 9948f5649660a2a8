/** What the images of the products are built from, and the images of the other programs, in the storage of a test's own Podman. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ownArchitecture, products } from '../../../packaging/products.ts'
import { readRelease } from '../../../packaging/release.ts'
import { makeTarball } from '../../../packaging/tarball/tarball.ts'
import type { Podman } from '../../harness/podman.ts'
import { root } from '../../harness/processes.ts'
import { buildBase, buildHaproxy, buildPostgres, buildRedis } from './debian-images.ts'

/** Version of the images; that of the project. */
export const { version } = readRelease()

/** Makes the tarballs of this machine's architecture. */
export function makeTarballs(podman: Podman, target: string): void {
  const work = join(podman.folder, 'work')
  mkdirSync(work)
  execFileSync(process.execPath, [join(root, 'scripts/bundle.mjs')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  for (const product of products)
    makeTarball(product, ownArchitecture()!, { release: readRelease(), target, work, fast: true })
}

/** The base of the products' images, and the programs that they use. */
export function buildOthers(podman: Podman): void {
  const folder = join(podman.folder, 'images')
  const build = (tag: string, files: string, config: string) => {
    const file = join(folder, `${tag}.Containerfile`)
    writeFileSync(file, `FROM scratch\nADD . /\n${config}`)
    const args = ['build', '--format', 'docker', '--quiet', '--isolation', 'chroot', '--file', file]
    execFileSync('buildah', [...args, '--tag', `localhost/${tag}`, files], { env: podman.env, stdio: 'pipe' })
  }
  const made = { base: buildBase, haproxy: buildHaproxy, redis: buildRedis, postgres: buildPostgres }
  for (const [name, make] of Object.entries(made)) {
    mkdirSync(join(folder, name), { recursive: true })
    make(build, join(folder, name))
  }
}
