/** Compiles the libraries that are published, `protocol` and `client`, to JavaScript with types in their `dist/`. */
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { root } from './install.mjs'

for (const [library, configs] of [
  ['protocol', ['tsconfig.json']],
  ['client', ['tsconfig.json', 'tsconfig.node.json']],
]) {
  const folder = `${root}/packages/${library}`
  rmSync(`${folder}/dist`, { recursive: true, force: true })
  for (const config of configs) {
    const emit = [
      '--noEmit',
      'false',
      '--declaration',
      '--rootDir',
      `${folder}/src`,
      '--outDir',
      `${folder}/dist`,
    ]
    // What was compiled before is what this one is compiled against: as somebody who installs it would have it.
    const args = [
      '-p',
      `${folder}/${config}`,
      ...emit,
      ...(library === 'client' ? ['--customConditions', 'none'] : []),
    ]
    const { status } = spawnSync(`${root}/node_modules/.bin/tsc`, args, { cwd: root, stdio: 'inherit' })
    if (status !== 0) process.exit(1)
  }
}
