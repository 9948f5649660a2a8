/** Builds a program with a defect, beside the real one. */
import { cpSync, readFileSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../../../harness/processes.ts'
import type { Mutant } from './mutants.ts'

/** Below the project, so that programs find the packages that they look for in the folders above them. */
const folder = join(root, 'node_modules/.cache/powercut')

/** @throws Error where the code has no such text any more: then the mutant has to follow it */
export function expectApplicable({ name, edits }: Mutant): void {
  for (const { file, from } of edits)
    if (!readFileSync(join(root, file), 'utf8').includes(from))
      throw new Error(`the mutant "${name}" changes ${JSON.stringify(from)}, which ${file} does not have`)
}

/** @returns the program, and what removes it */
export async function buildMutant(mutant: Mutant): Promise<{ program: string; remove: () => void }> {
  expectApplicable(mutant)
  const { app, edits } = mutant
  const target = join(folder, `${app}-${process.pid}`)
  cpSync(join(root, 'apps', app, 'dist'), target, { recursive: true })
  const { bundleProgram } = await import(pathToFileURL(join(root, 'scripts/bundle-program.mjs')).href)
  const plugin = {
    name: 'mutant',
    transform(code: string, id: string) {
      const own = edits.filter(({ file }) => relative(root, id) === file)
      return own.length === 0 ? null : own.reduce((text, { from, to }) => text.replaceAll(from, to), code)
    },
  }
  await bundleProgram(app, target, [plugin])
  return { program: join(target, 'main.cjs'), remove: () => rmSync(target, { recursive: true, force: true }) }
}
