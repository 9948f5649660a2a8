/** The API, the command line, the list, the page, the map and the export state the same of a service and of a device. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { countStates } from '@selvedge/protocol'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { functionImage, writeFile } from '../../harness/archives.ts'
import { cliEnvOf, jsonOf, runCli } from '../../harness/cli.ts'
import { createDevice, type Device, fixAt } from '../../harness/device.ts'
import { accessToken, adminOf, createProject, runtimeOf } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { whereProgramsStart } from '../../harness/limits.ts'
import { becomeOwner, openBrowser, type PersonAtBrowser } from '../../harness/person.ts'
import { type Program, type Stack, startProgram, startStack } from '../../harness/processes.ts'
import { createProgramClock, type ProgramClock } from '../../harness/program-clock.ts'
import { callUrl } from '../../harness/services.ts'

const email = 'ada@example.com'
/** Ends as soon as it may fail: one that exits while it starts is not deployed. */
const exits = `setTimeout(() => Deno.exit(7), 60); export default { fetch: () => new Response('x') }`
const answers = `export default { fetch: () => new Response('x') }`

describe('one truth', needs('chromium-headless-shell'), () => {
  let clock: ProgramClock
  let stack: Stack
  let identity: Program
  let person: PersonAtBrowser
  let page: Page
  let list: Page
  let token: string
  let nodeId: string
  let developer: { clientId: string; idToken: string; accountId: string }

  beforeAll(async () => {
    clock = await createProgramClock()
    stack = await startStack({ envOf: { runtime: clock.env } })
    identity = stack.identity
    person = await openBrowser({ map: true })
    page = person.page
    await becomeOwner(page, stack.identity.ready.setup!)
    list = await person.context.newPage()
    const [account] = await adminOf(stack.state)['account.list']()
    developer = { accountId: account!.accountId, ...(await createProject(stack.state, email)) }
    token = await accessToken(stack, developer)
    await runtimeOf(stack).associateAccount({ edgeAccessToken: token })
    nodeId = (await runtimeOf(stack).getMe()).nodeId
    await page.goto(`${origin()}/devices/${nodeId}`)
    await list.goto(`${origin()}/devices`)
  })
  afterAll(async () => {
    await person?.close()
    await identity?.stop()
    await stack?.stop()
    await clock?.remove()
  })

  const origin = () => new URL(stack.identity.ready.setup!).origin
  const rowOf = (id: string) => list.locator(`tr[data-node="${id}"]`)

  describe('of a service', () => {
    let files = 0
    const deploy = async (name: string, source: string, env: Record<string, string> = {}) => {
      const archive = writeFile(`${stack.state}/archives`, `${++files}.tar`, functionImage(source, name))
      const { id: image } = await runtimeOf(stack).deployImage({ edgeAccessToken: token, source: archive })
      return runtimeOf(stack).deployContainer({ edgeAccessToken: token, spec: { name, image, env } })
    }
    const ofApi = async () =>
      Object.fromEntries(
        (await runtimeOf(stack).getContainers({ edgeAccessToken: token })).map(({ name, state }) => [
          name,
          state,
        ]),
      )
    const cli = (...args: string[]) =>
      runCli(args, { ...cliEnvOf(stack), SELVEDGE_ACCESS_TOKEN: token, SELVEDGE_URL: stack.runtime.url })
    const ofCli = async () =>
      Object.fromEntries(
        (await jsonOf(cli('ps', '--json'))).map(({ name, state }: Record<string, string>) => [name, state]),
      )
    /** Name and state of each service on the page of the device, in the words that are read there. */
    const ofPage = async () =>
      Object.fromEntries(
        await page
          .locator('section')
          .filter({ has: page.getByRole('heading', { name: 'Services', exact: true }) })
          .locator('li')
          .evaluateAll((all) =>
            all.map((each) => [
              each.querySelector('strong')!.textContent,
              each.querySelector('.state, .badge')!.textContent!.trim().toLowerCase(),
            ]),
          ),
      )
    const inList = () => rowOf(nodeId).locator('td').nth(3).textContent().then(String)

    /** Waits until the services are in these states, and everything shows it, with no reload of a page. */
    const expectEverywhere = async (states: Record<string, string>) => {
      const failed = Object.values(states).filter((each) => each === 'failed').length
      const counted = countStates(Object.values(states).map((state) => ({ state })))
      await expect
        .poll(async () => [await ofApi(), await ofCli(), await ofPage(), await ofApi()], whereProgramsStart)
        .toEqual([states, states, states, states])
      const sorted = (text: string) => text.split(', ').toSorted()
      await expect
        .poll(async () => sorted(await inList()))
        .toEqual(sorted(failed > 0 ? `${failed} failed` : counted))
      const { out } = await cli('ps')
      for (const [name, state] of Object.entries(states))
        expect(out).toMatch(new RegExp(`^${developer.clientId}-${name} +${state} `, 'm'))
    }

    it('one that runs, one that pauses and starts with a request, and one that was stopped', async () => {
      await deploy('runs', answers, { 'MCM.IDLE_SEC': '0' })
      const { basePath } = await deploy('pauses', answers)
      const { id } = await deploy('off', answers)
      await runtimeOf(stack).stopContainer({ edgeAccessToken: token, id })
      await expectEverywhere({ runs: 'running', pauses: 'running', off: 'stopped' })
      await clock.passWhile(async () => (await ofApi()).pauses === 'running')
      await expectEverywhere({ runs: 'running', pauses: 'paused', off: 'stopped' })
      expect((await callUrl(stack.runtime.url + basePath, { token })).status).toBe(200)
      await expectEverywhere({ runs: 'running', pauses: 'running', off: 'stopped' })
    })

    it('one that starts again by itself, and has failed in the end', async () => {
      await deploy('breaks', exits, { 'MCM.IDLE_SEC': '0' })
      const rest = { runs: 'running', off: 'stopped' }
      // The waits between its starts become longer: in one of them, everything shows that it starts.
      await expectEverywhere({ ...rest, pauses: 'running', breaks: 'starting' })
      await clock.passWhile(async () => (await ofApi()).breaks !== 'failed')
      await expectEverywhere({ ...rest, ...{ pauses: (await ofApi()).pauses!, breaks: 'failed' } })
      await list.getByRole('button', { name: '1 device has a failed service' }).waitFor()
    })
  })

  describe('of a device', () => {
    const devices = {} as Record<'online' | 'away' | 'blocked', Device>
    const states = ['online', 'away', 'blocked'] as const

    it('the list, its counts and filters, the page, the map and the export', async () => {
      const urls = { identityUrl: stack.identity.url, discoveryUrl: stack.discovery.url }
      for (const [at, state] of states.entries()) {
        devices[state] = await createDevice(urls, developer, `device-${state}`)
        await devices[state].state({ services: [{ id: 's', name: 's', image: 'i', state: 'running' }] })
        await devices[state].report(fixAt(10 + 40 * at, 10))
      }
      await identity.stop()
      const database = new DatabaseSync(join(stack.state, 'identity', 'identity.db'))
      database
        .prepare('UPDATE nodes SET last_seen_at = last_seen_at - 7200000 WHERE node_id = ?')
        .run(devices.away.nodeId)
      database.close()
      identity = await startProgram('identity', {
        SELVEDGE_STATE: stack.state,
        SELVEDGE_IDENTITY_PORT: new URL(stack.identity.url).port,
        SELVEDGE_DISCOVERY_URL: stack.discovery.url,
      })
      await list.goto(`${origin()}/devices`)
      await rowOf(devices.blocked.nodeId).getByRole('checkbox').check()
      await list.getByRole('toolbar').getByRole('button', { name: 'Block', exact: true }).click()
      await list.getByRole('dialog').getByRole('button', { name: 'Block', exact: true }).click()
      for (const state of states) {
        const { nodeId: id } = devices[state]
        const title = state[0]!.toUpperCase() + state.slice(1)
        await list.goto(`${origin()}/devices`)
        await rowOf(id).locator('.state', { hasText: title }).waitFor()
        await list.getByRole('link', { name: `device-${state}, ${state}`, exact: true }).waitFor()
        // The runtime is online as well.
        const count = state === 'online' ? 2 : 1
        await list.getByRole('button', { name: `${title} ${count}`, exact: true }).click()
        await list.getByText(count === 1 ? '1 device' : `${count} devices`, { exact: true }).waitFor()
        const shown = async () => [await rowOf(id).count(), await list.locator('.map .pin').count()]
        await expect.poll(shown).toEqual([1, 1])
        expect(await exported()).toContainEqual([id, state])
        await list.goto(`${origin()}/devices/${id}`)
        await list.locator('.state', { hasText: title }).first().waitFor()
        await list.locator(`.map .pin.${{ online: 'good', away: 'warn', blocked: 'bad' }[state]}`).waitFor()
        // What it stated last is no news of now.
        expect(await list.locator('.rows .dot.good').count()).toBe(state === 'online' ? 1 : 0)
      }
    })

    async function exported(): Promise<[string, string][]> {
      await list.locator('summary', { hasText: 'Export' }).click()
      const [saved] = await Promise.all([
        list.waitForEvent('download'),
        list.getByRole('button', { name: 'JSON', exact: true }).click(),
      ])
      const all = JSON.parse(readFileSync(await saved.path(), 'utf8')) as { nodeId: string; state: string }[]
      return all.map(({ nodeId: id, state }) => [id, state])
    }
  })
})
