/** A person at a real terminal is asked before a credential goes to a host that a runtime names. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cliPath } from '../../harness/cli.ts'
import { needs } from '../../harness/installed.ts'
import { temporaryFolder } from '../../harness/processes.ts'
import { type Recorder, startRecorder } from '../../harness/recorder.ts'

describe('a host that a runtime names', needs('tmux'), () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let identity: Recorder
  let runtime: Recorder
  const server = `selvedge-confirm-${process.pid}`
  const tmux = (...args: string[]) => execFileSync('tmux', ['-L', server, ...args], { encoding: 'utf8' })
  const screen = () => tmux('capture-pane', '-p', '-J', '-t', 'main')
  const type = (line: string) => tmux('send-keys', '-t', 'main', line, 'Enter')
  async function seen(what: RegExp): Promise<void> {
    for (let tries = 0; tries < 400; tries++) {
      if (what.test(screen())) return
      await pause(50)
    }
    throw new Error(`the terminal shows:\n${screen()}`)
  }

  beforeAll(async () => {
    folder = await temporaryFolder()
    mkdirSync(join(folder.path, 'home'))
    writeFileSync(join(folder.path, 'developer'), 'secret-developer-token')
    identity = await startRecorder()
    runtime = await startRecorder({ names: identity.url })
    const shell = [
      'env',
      '-i',
      `HOME=${join(folder.path, 'home')}`,
      'PS1=$ ',
      'TERM=xterm-256color',
      'bash',
      '--norc',
    ]
    tmux('new-session', '-d', '-s', 'main', '-x', '150', '-y', '50', '-c', folder.path, ...shell)
    const options = `--url ${runtime.url} --developer-token-file developer --client-id x`
    // The number of the run is on the screen: what an earlier one left there does not count.
    type(
      `exchange() { clear; echo "run $1"; ${process.execPath} ${cliPath} token access ${options}; echo "exit $?"; }`,
    )
  })
  afterAll(async () => {
    tmux('kill-server')
    await identity.close()
    await runtime.close()
    await folder.remove()
  })

  it('is shown; a no sends nothing, a yes is asked for once', async () => {
    const { host } = new URL(identity.url)
    type('exchange 1')
    await seen(new RegExp(`run 1\\n[\\s\\S]*identity service is ${host}[\\s\\S]*\\[y/N\\]`))
    type('n')
    await seen(/error: [\s\S]*hint: [\s\S]*--identity-url[\s\S]*exit 2/)
    expect(identity.received).toEqual([])

    type('exchange 2')
    await seen(/run 2\n[\s\S]*\[y\/N\]/)
    type('y')
    await seen(/a\.b\.c\nexit 0/)
    expect(identity.received.join('\n')).toContain('secret-developer-token')

    type('exchange 3')
    await seen(/run 3\n[\s\S]*a\.b\.c\nexit 0/)
    expect(screen()).not.toContain('[y/N]')
  })
})
