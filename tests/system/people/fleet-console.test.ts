/** The page of devices with a fleet: filters, a file of it, and changes of many devices at once. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../harness/installed.ts'
import {
  becomeOwner,
  findObstacles,
  findOverflow,
  openBrowser,
  type PersonAtBrowser,
  takePictures,
} from '../../harness/person.ts'
import { freePorts, type Program, startProgram, temporaryFolder } from '../../harness/processes.ts'

const devices = 230
const nodeIdOf = (at: number): string => at.toString(16).padStart(56, '0')

describe('the page of a fleet', needs('chromium-headless-shell'), () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let identity: Program
  let person: PersonAtBrowser
  let page: Page

  const inDatabase = <T>(work: (database: DatabaseSync) => T): T => {
    const database = new DatabaseSync(join(folder.path, 'identity', 'identity.db'), { timeout: 30_000 })
    try {
      return work(database)
    } finally {
      database.close()
    }
  }
  const open = async (query = '') => {
    await page.goto(`${new URL(identity.ready.setup!).origin}/devices${query}`)
    await page.getByRole('heading', { name: 'Devices', level: 1 }).waitFor()
    await rows().first().waitFor()
  }
  const rows = () => page.locator('tbody tr')
  const bar = () => page.getByRole('toolbar')
  const says = (text: string) => page.getByText(text, { exact: true }).waitFor()
  const pick = (name: string) => page.getByRole('checkbox', { name: `Select ${name}`, exact: true })
  const rowOf = (at: number) => page.locator(`tr[data-node="${nodeIdOf(at)}"]`)

  beforeAll(async () => {
    folder = await temporaryFolder()
    identity = await startProgram('identity', { SELVEDGE_STATE: folder.path, ...freePorts })
    person = await openBrowser()
    page = person.page
    await becomeOwner(page, identity.ready.setup!)
    inDatabase((database) => {
      const { account_id: accountId } = database.prepare('SELECT account_id FROM accounts').get()!
      const insert = database.prepare(
        `INSERT INTO nodes (node_id, name, account_id, hmac_node_key, hmac_cloud_key, hmac_secret, enrolled_at, last_seen_at, version, services)
        VALUES (?, ?, ?, '', '', '', ?, ?, ?, ?)`,
      )
      for (let at = 0; at < devices; at++) {
        const name = at === 5 ? '<b onclick="x">=1+1</b> \u202e' : `van-${String(at).padStart(3, '0')}`
        const service = { id: 's', name: at % 2 === 0 ? 'gateway' : 'camera', image: 'x', state: 'running' }
        const isAway = at % 10 === 0
        insert.run(
          ...[nodeIdOf(at), name, accountId!, at, Date.now() - (isAway ? 1e9 : 0)],
          ...[at < 30 ? '1.3.0' : '1.4.2', JSON.stringify([service])],
        )
      }
    })
  })
  afterAll(async () => {
    await person?.close()
    await identity?.stop()
    await folder?.remove()
  })

  it('reminds of one thing at a time, and not again after it was put away', async () => {
    const notices = () => page.locator('.notice:visible')
    const goTo = async (path: string, heading: string) => {
      await page.goto(new URL(identity.ready.setup!).origin + path)
      await page.getByRole('heading', { name: heading, level: 1 }).waitFor()
    }
    await goTo('/people', 'People')
    await says('You could lock yourself out')
    inDatabase((database) => {
      const { person_id: personId } = database.prepare('SELECT person_id FROM people').get()!
      const { account_id: accountId } = database.prepare('SELECT account_id FROM accounts').get()!
      const day = 86_400_000
      database.exec(`INSERT INTO projects (client_id, name, account_id, scopes, resources, active, created_at)
        VALUES ('c', 'p', '${accountId}', '[]', '[]', 1, 0)`)
      const insert = database.prepare(
        `INSERT INTO developer_tokens (jti, account_id, client_id, issued_at, expires_at, person_id, last_used_at)
        VALUES (?, ?, 'c', ?, ?, ?, ?)`,
      )
      const now = Date.now()
      insert.run('expires', accountId!, now - 27 * day, now + 3 * day, personId!, now)
      insert.run('never used', accountId!, now - 27 * day, now + day, personId!, null)
      insert.run('short', accountId!, now - day, now + day, personId!, now)
      for (let code = 0; code < 10; code++)
        database.prepare('INSERT INTO recovery_codes VALUES (?, ?, NULL)').run(`code ${code}`, personId!)
    })
    await goTo('/people', 'People')
    await says('A developer token expires soon')
    expect(await notices().count()).toBe(1)
    // A notice of the page has priority.
    await goTo('/devices', 'Devices')
    await says('Locations are missing')
    expect(await notices().count()).toBe(1)
    await goTo('/people', 'People')
    await page.getByRole('button', { name: 'Not now' }).click()
    await says('Add a second passkey')
    await page.getByRole('button', { name: 'Not now' }).click()
    await expect.poll(() => notices().count()).toBe(0)
    await goTo('/account', 'Your account')
    expect(await notices().count()).toBe(0)
    // Whatever is stored instead counts as nothing.
    for (const stored of ['no JSON', 'null', '[1]', '{"x":"y"}', '{"__proto__":1}']) {
      await page.evaluate((text) => localStorage.setItem('selvedge:hushed', text), stored)
      await goTo('/people', 'People')
      await says('A developer token expires soon')
    }
  })

  it('has states with counts, and filters that the address has', async () => {
    await open()
    await says('230 devices')
    await page.getByRole('button', { name: 'Away 23' }).click()
    await says('23 devices')
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    await page.getByLabel('Service').selectOption('gateway')
    await page.getByLabel('Version').selectOption({ label: '1.3.0 (30)' })
    await page.getByRole('button', { name: 'Show devices' }).click()
    await says('3 devices')
    expect(new URL(page.url()).search).toBe('?state=away&service=gateway&version=1.3.0')
    await page.reload()
    await says('3 devices')
    await page.getByRole('button', { name: 'version is 1.3.0 Remove filter' }).click()
    await says('23 devices')
    await page.getByRole('button', { name: 'service is gateway Remove filter' }).click()
    await page.getByRole('button', { name: 'All 230' }).click()
    expect(new URL(page.url()).search).toBe('')
  })

  it('shows above the map what needs attention, and on a click exactly those devices', async () => {
    inDatabase((database) => {
      const { account_id: accountId } = database.prepare('SELECT account_id FROM accounts').get()!
      for (const at of [1, 10, 20])
        database.prepare('INSERT INTO device_needs VALUES (?, ?, ?)').run(accountId!, 'disk', nodeIdOf(at))
    })
    await open()
    const strip = page.getByRole('region', { name: 'Needs attention' })
    await strip.getByRole('button', { name: '23 of 230 devices away' }).click()
    await says('23 devices')
    await strip.getByRole('button', { name: '3 devices have an almost full disk' }).click()
    await says('2 devices')
    expect(new URL(page.url()).search).toBe('?state=away&need=disk')
    expect(await findObstacles(page)).toEqual([])
    await takePictures(page, 'fleet-attention')
    await page.getByRole('button', { name: 'All 3' }).click()
    await says('3 devices')
    await page.getByRole('button', { name: 'Disk almost full Remove filter' }).click()
    await says('230 devices')
    inDatabase((database) =>
      database.exec('DELETE FROM device_needs; UPDATE nodes SET last_seen_at = last_seen_at - 7200000'),
    )
    await open()
    await strip.getByRole('button', { name: /^All 230 devices are away/ }).waitFor()
    expect(await strip.getByRole('button').count()).toBe(1)
    inDatabase((database) => database.exec('UPDATE nodes SET last_seen_at = last_seen_at + 7200000'))
  })

  it('searches when the person pauses, and offers all devices when no device matches', async () => {
    await open()
    const asked: string[] = []
    page.on('request', (request) => {
      const body = request.postData() ?? ''
      if (body.includes('device.list') && body.includes('van-0')) asked.push(body)
    })
    // Without a pause, and with the last key at the very moment at which the search begins.
    await page.getByLabel('Find a device').evaluate((element) => {
      const field = element as unknown as { value: string; dispatchEvent(event: Event): void }
      const type = (text: string) => {
        field.value = text
        field.dispatchEvent(new Event('input', { bubbles: true }))
      }
      addEventListener('selvedge:moved', () => type('van-0123'), { once: true })
      for (let length = 1; length < 8; length++) type('van-0123'.slice(0, length))
    })
    await says('No device matches “van-0123”')
    expect(asked).toHaveLength(2)
    await page.getByRole('button', { name: 'Show all devices' }).click()
    await says('230 devices')
    expect(await page.getByLabel('Find a device').inputValue()).toBe('')
  })

  it('selects rows and pages, and Escape clears', async () => {
    await open()
    expect(await bar().count()).toBe(0)
    await pick('van-001').check()
    await pick('van-002').check()
    expect(await bar().getAttribute('aria-label')).toBe('2 devices selected')
    // On a wide screen, the map stays beside the list.
    await page.setViewportSize({ width: 2560, height: 1200 })
    const edges = async () => {
      const [list, map] = await Promise.all(
        ['.fleet > .card', '.fleet > .map'].map((each) => page.locator(each).boundingBox()),
      )
      return { top: map!.y - list!.y, isBeside: map!.x >= list!.x + list!.width }
    }
    await expect.poll(edges).toEqual({ top: 0, isBeside: true })
    await page.setViewportSize({ width: 1280, height: 900 })
    await takePictures(page, 'fleet-bulk')
    await page.keyboard.press('Escape')
    await expect.poll(() => bar().count()).toBe(0)
    await page.getByRole('checkbox', { name: 'Select all devices of this page' }).check()
    await says('100 selected')
    await page.getByRole('button', { name: 'Select all 230' }).click()
    await says('230 selected')
    await page.getByRole('button', { name: 'Next' }).click()
    await pick('van-150').waitFor()
    expect(await pick('van-150').isChecked()).toBe(true)
    // Another filter selects other devices: what is selected is always seen.
    await page.getByRole('button', { name: 'Away 23' }).click()
    await expect.poll(() => bar().count()).toBe(0)
  })

  it('tags all devices of a filter, more than one call may have', async () => {
    await open('?service=camera')
    await pick('van-001').check()
    await page.getByRole('button', { name: 'Select all 115' }).click()
    await says('115 selected')
    await bar().getByRole('button', { name: 'Add tag' }).click()
    await page.getByRole('textbox', { name: 'Tag' }).fill('kind:camera')
    // The opener has the same name.
    await page.getByRole('dialog').getByRole('button', { name: 'Add tag' }).click()
    await says('115 devices tagged')
    await rowOf(1).getByText('kind:camera').waitFor()
    await rowOf(1).getByRole('link', { name: 'Devices with the tag kind:camera' }).click()
    await says('115 devices')
    expect(new URL(page.url()).search).toBe('?tag=kind%3Acamera')
  })

  it('names the tag that is wrong, in the dialog', async () => {
    await open()
    await pick('van-001').check()
    await bar().getByRole('button', { name: 'Remove tag' }).click()
    await page.getByRole('textbox', { name: 'Tag' }).fill('no:tag:this')
    await page.getByRole('dialog').getByRole('button', { name: 'Remove tag' }).click()
    await page.getByRole('dialog').getByRole('alert').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await says('1 selected')
  })

  it('blocks several after the person typed how many, and lists those that were not blocked', async () => {
    await open()
    for (const at of [1, 2, 3]) await pick(`van-00${at}`).check()
    inDatabase((database) => database.prepare('DELETE FROM nodes WHERE node_id = ?').run(nodeIdOf(3)))
    await bar().getByRole('button', { name: 'Block', exact: true }).click()
    const dialog = page.getByRole('dialog')
    const confirm = dialog.getByRole('button', { name: 'Block', exact: true })
    expect(await confirm.isDisabled()).toBe(true)
    await dialog.getByLabel('Type 3 devices to confirm').fill('3 devices')
    await confirm.click()
    await page.getByRole('heading', { name: '1 device not changed' }).waitFor()
    await dialog.getByText('van-003').waitFor()
    await dialog.getByRole('button', { name: 'Done' }).click()
    await rowOf(1).getByText('Blocked').waitFor()
    await page.getByRole('button', { name: 'Blocked 2' }).waitFor()
    await page.keyboard.press('Escape')
    for (const at of [1, 2]) await pick(`van-00${at}`).check()
    await bar().getByRole('button', { name: 'Unblock' }).click()
    await says('2 devices unblocked')
  })

  it('saves what the filter selects as CSV and JSON', async () => {
    await open('?version=1.3.0')
    for (const [format, lines] of [
      ['CSV', 30],
      ['JSON', 31],
    ] as const) {
      await page.locator('summary', { hasText: 'Export' }).click()
      const [saved] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: format, exact: true }).click(),
      ])
      expect(saved.suggestedFilename()).toBe(`selvedge-devices.${format.toLowerCase()}`)
      const text = readFileSync(await saved.path(), 'utf8')
      expect(text.trimEnd().split('\n')).toHaveLength(lines)
      expect(text).toContain('van-029')
      expect(text).not.toContain('van-030')
    }
  })

  it('is usable at 390 px and with assistive technology', async () => {
    const found: string[] = []
    for (const width of [390, 1280]) {
      await page.setViewportSize({ width, height: 844 })
      await open('?version=1.3.0')
      await pick('van-001').check()
      const [text, clear] = await Promise.all(
        [bar().locator('strong'), bar().getByRole('button', { name: 'Clear selection' })].map(
          async (each) => {
            const { y, height } = (await each.boundingBox())!
            return y + height / 2
          },
        ),
      )
      expect(Math.abs(text! - clear!)).toBeLessThan(4)
      found.push(...(await page.evaluate(findOverflow)).map((each) => `at ${width} px too wide: ${each}`))
      found.push(...(await findObstacles(page)))
      await page.getByRole('button', { name: 'Filter', exact: true }).click()
      await page.getByRole('combobox', { name: 'Tag' }).waitFor()
      found.push(...(await findObstacles(page)))
      await page.keyboard.press('Escape')
      expect(await bar().count()).toBe(1)
    }
    await page.setViewportSize({ width: 1280, height: 900 })
    expect(found).toEqual([])
  })
})
