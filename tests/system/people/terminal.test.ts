/** Sign-in from a real terminal, approved on a real page. */
import { execFileSync } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cliEnvOf, cliPath, runCli, signInFile } from '../../harness/cli.ts'
import { runtimeOf } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { becomeOwner, openBrowser, type PersonAtBrowser, takePictures } from '../../harness/person.ts'
import { type Stack, startStack } from '../../harness/processes.ts'

describe('selvedge login', needs('chromium-headless-shell', 'tmux'), () => {
  let stack: Stack
  let person: PersonAtBrowser
  const server = `selvedge-${process.pid}`
  const tmux = (...args: string[]) => execFileSync('tmux', ['-L', server, ...args], { encoding: 'utf8' })
  const screen = () => tmux('capture-pane', '-p', '-J', '-t', 'main')
  const type = (line: string) => tmux('send-keys', '-t', 'main', line, 'Enter')
  /** What the terminal shows, when it shows something. */
  async function seen(what: RegExp): Promise<RegExpExecArray> {
    for (let tries = 0; tries < 400; tries++) {
      const found = what.exec(screen())
      if (found) return found
      await pause(50)
    }
    throw new Error(`the terminal shows:\n${screen()}`)
  }

  beforeAll(async () => {
    stack = await startStack({ runtime: ['--revocations.interval=1'] })
    person = await openBrowser()
    await becomeOwner(person.page, stack.identity.ready.setup!)
    tmux(
      'new-session',
      '-d',
      '-s',
      'main',
      '-x',
      '120',
      '-y',
      '60',
      'env',
      '-i',
      'PS1=$ ',
      'LANG=C.UTF-8',
      'TERM=xterm-256color',
      'bash',
      '--norc',
    )
    type(`selvedge() { ${process.execPath} ${cliPath} "$@"; }`)
    for (const [name, value] of Object.entries(cliEnvOf(stack))) type(`export ${name}='${value}'`)
    type('clear')
  })
  afterAll(async () => {
    tmux('kill-server')
    await person.close()
    await stack.stop()
  })

  it('shows a code, a page and a picture of it, and continues after approval on the page', async () => {
    type('selvedge login')
    const [, url] = await seen(/Open +(http:\S+)/)
    const [, code] = await seen(/Code +([A-Z]{4}-[A-Z]{4})/)
    expect(screen()).toMatch(/[▀▄█]{5}/)

    const { page } = person
    // On another device, a person types the address without the code.
    await page.goto(url!.split('?')[0]!)
    await page.getByLabel('Code from your terminal').fill(code!.toLowerCase())
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText(code!, { exact: true }).waitFor()
    const shown = await page.locator('main').textContent()
    await takePictures(page, 'approve')
    expect(shown).toContain('Selvedge command line')
    expect(shown).toContain('127.0.0.1')
    expect(shown).toContain('Same address as you')
    for (const scope of ['edge:mcm', 'edge:account:associate', 'offline_access'])
      expect(shown).toContain(scope)
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('heading', { name: 'Approved' }).waitFor()

    await seen(/signed in at http/)
    const file = signInFile(cliEnvOf(stack))
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
      clientId: 'selvedge-cli',
      refreshToken: expect.any(String),
    })
  })

  it('then makes the device theirs with the command of the console, with no token pasted', async () => {
    const { page } = person
    await page.goto(new URL('/devices', stack.identity.ready.setup!).href)
    const command = page.getByRole('region', { name: 'Command that connects a device' })
    // The shell has a function of this name for the checkout's program.
    type(`clear; ${await command.textContent()}`)
    const [, url] = await seen(/belongs to your account: (\S+)/)
    await page.goto(url!)
    await page.getByRole('heading', { name: (await runtimeOf(stack).getMe()).name, level: 1 }).waitFor()
    const status = JSON.parse((await runCli(['status', '--json'], cliEnvOf(stack))).out)
    expect(status.login).toMatchObject({ clientId: 'selvedge-cli' })
    expect(status.runtime.revocations.ageSeconds).toBeGreaterThanOrEqual(0)
    expect((await runCli(['status'], cliEnvOf(stack))).out).toMatch(/revoked +list checked \d+ s ago/)
  })

  it('is listed on the account page, and can be revoked there', async () => {
    const { page } = person
    await page.goto(new URL('/account', stack.identity.ready.setup!).href)
    await page.getByText('Selvedge command line').waitFor()
  })

  it('lasts: commands at the same time refresh without losing the sign-in', async () => {
    const file = signInFile(cliEnvOf(stack))
    for (let round = 0; round < 3; round++) {
      // As if the ID token at hand had ended.
      writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), idTokenEndsAt: 0 }), {
        mode: 0o600,
      })
      const ran = await Promise.all(
        Array.from({ length: 4 }, () => runCli(['image', 'list', '--json'], cliEnvOf(stack))),
      )
      expect(ran.map(({ code }) => code)).toEqual([0, 0, 0, 0])
    }
  })

  it('logout ends it, here and at the service', async () => {
    const { refreshToken } = JSON.parse(readFileSync(signInFile(cliEnvOf(stack)), 'utf8'))
    type('clear; selvedge logout')
    await seen(/signed out/)
    expect((await runCli(['image', 'list'], cliEnvOf(stack))).code).toBe(4)
    const body = new URLSearchParams({
      grant_type: 'refresh_token',
      client_id: 'selvedge-cli',
      refresh_token: refreshToken,
    })
    expect((await fetch(`${stack.identity.url}/token`, { method: 'POST', body })).status).toBe(400)
  })

  it('ends with a clear error after a refusal on the page', async () => {
    type('clear; selvedge login')
    const [, code] = await seen(/Code +([A-Z]{4}-[A-Z]{4})/)
    const { page } = person
    await page.goto(new URL(`/device?user_code=${code}`, stack.identity.ready.setup!).href)
    await page.getByRole('button', { name: 'Deny' }).click()
    await page.getByRole('heading', { name: 'Denied' }).waitFor()
    await seen(/error: the sign-in was refused on the page/)
  })
})
