/** Runs the commands of `docs/containers.md`, in a folder that has what a clone has, on the storage of a test's own Podman. */
import { execFile } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Podman } from '../../harness/podman.ts'
import { root } from '../../harness/processes.ts'

const execute = promisify(execFile)

export interface Commands {
  /** The folder, with `deploy` and `package.json`. */
  readonly folder: string
  /** Runs the commands under a heading. @param block which of its blocks @returns what they printed. @throws if one fails */
  run(heading: string, block?: number): Promise<string>
  /** Runs other commands with the functions that the page defines. */
  shell(script: string): Promise<string>
}

/** Name of the Compose project: networks are the machine's, and other users of it may run the same test. */
export const project = `selvedge-${process.pid}`

/** @param env variables that the page leaves to its reader */
export function readCommands(podman: Podman, env: Record<string, string>): Commands {
  const folder = join(podman.folder, 'clone')
  mkdirSync(folder)
  cpSync(join(root, 'deploy'), join(folder, 'deploy'), { recursive: true })
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'))
  const text = readFileSync(join(root, 'docs/containers.md'), 'utf8')
    .replaceAll('-p selvedge ', `-p ${project} `)
    .replaceAll('selvedge_', `${project}_`)
  const functions = text.split('\n').filter((line) => /^\w+\(\) \{.*\}$/.test(line))
  // Not synchronous: callers in this process go on.
  const shell = async (script: string) => {
    const options = { cwd: folder, env: { ...podman.env, ...env }, maxBuffer: 1e8 }
    return (await execute('bash', ['-euc', `${functions.join('\n')}\n${script}`], options)).stdout
  }
  return {
    folder,
    shell,
    async run(heading, block = 0) {
      const section = text.split(/^## /m).find((each) => each.startsWith(`${heading}\n`))
      const script = [...(section?.matchAll(/^```sh\n(.*?)^```/gms) ?? [])][block]?.[1]
      if (script === undefined)
        throw new Error(`docs/containers.md has no such commands: ${heading}, ${block}`)
      return shell(script)
    },
  }
}
