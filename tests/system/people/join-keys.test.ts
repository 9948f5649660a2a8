/** The page of join keys: a key that is shown once, devices that wait, and what ends both. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createNodeKey } from '../../harness/device.ts'
import { needs } from '../../harness/installed.ts'
import { joinAs } from '../../harness/node-contact.ts'
import {
  becomeOwner,
  findObstacles,
  findOverflow,
  openBrowser,
  type PersonAtBrowser,
  takePictures,
} from '../../harness/person.ts'
import { freePorts, type Program, startProgram, temporaryFolder } from '../../harness/processes.ts'

describe('the page of join keys', needs('chromium-headless-shell'), () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let identity: Program
  let person: PersonAtBrowser
  let page: Page
  let key: string

  const origin = () => new URL(identity.ready.setup!).origin
  const open = async () => {
    await page.goto(`${origin()}/devices/join-keys`)
    await page.getByRole('heading', { name: 'Join keys', level: 1 }).waitFor()
  }
  const says = (text: string) => page.getByText(text, { exact: true }).waitFor()
  const textOf = (label: string) =>
    page.getByRole('region', { name: label, exact: true }).locator('pre').textContent().then(String)
  const dialog = () => page.getByRole('dialog')
  const press = (name: string, within: Pick<Page, 'getByRole'> = page) =>
    within.getByRole('button', { name, exact: true }).click()
  const arrive = (serial?: string) => {
    const node = createNodeKey()
    return joinAs(node, identity.url, { key, ...(serial !== undefined && { serial }) }).then(() => node)
  }
  const waiting = () => page.getByRole('region', { name: 'Table of waiting devices' }).locator('tbody tr')
  /** What is wrong with the page as it is, at the width of a phone and of a desktop. */
  const problems = async () => {
    const found: string[] = []
    for (const width of [390, 1280]) {
      await page.setViewportSize({ width, height: 900 })
      found.push(...(await findObstacles(page)), ...(await page.evaluate(findOverflow)))
    }
    return found
  }

  beforeAll(async () => {
    folder = await temporaryFolder()
    identity = await startProgram('identity', { SELVEDGE_STATE: folder.path, ...freePorts })
    person = await openBrowser()
    page = person.page
    await becomeOwner(page, identity.ready.setup!)
  })
  afterAll(async () => {
    await person?.close()
    await identity?.stop()
    await folder?.remove()
  })

  it('is reached from the devices, and explains what a key is for', async () => {
    await page.getByRole('link', { name: 'Many devices: join keys' }).click()
    await says('No join keys yet')
    expect(await problems()).toEqual([])
    await takePictures(page, 'join-keys-none')
  })

  it('creates a key, and shows it once with the ways to use it', async () => {
    await press('Create join key')
    await page.getByLabel('Title').fill('Line 2')
    await page.getByLabel('Devices', { exact: true }).fill('3')
    await page.getByLabel('Name of the devices').fill('kiosk-{serial}')
    await page.getByLabel('Tags').fill('team:kiosk lab')
    await page.getByLabel('Each device waits').check()
    expect(await problems()).toEqual([])
    await takePictures(page, 'join-keys-create')
    await press('Create join key', dialog())
    await page.getByRole('heading', { name: 'Your join key' }).waitFor()
    key = await textOf('Join key')
    expect(key).toMatch(/^sj_[\w-]{32}$/)
    expect(await textOf('Variable with the key')).toBe(`SELVEDGE_JOIN_KEY=${key}`)
    expect(await textOf('Command that joins')).toContain('sudo selvedge up --join-key-file join-key')
    // The line for the image, in a folder in place of the root.
    const line = await textOf('Command that writes the file')
    const here = line.replace('sudo ', '').replace('/etc/selvedge', join(folder.path, 'etc'))
    execFileSync('sh', ['-c', here])
    expect(readFileSync(join(folder.path, 'etc/join-key'), 'utf8')).toBe(`${key}\n`)
    expect(await problems()).toEqual([])
    await takePictures(page, 'join-keys-made')
    await press('Done')
    await expect.poll(() => page.content()).not.toContain(key)
    await says('0 of 3')
    await says('kiosk-{serial}')
  })

  it('shows what is wrong with a name, in the dialog', async () => {
    await press('Create join key')
    await page.getByLabel('Name of the devices').fill('{serial}{../../x}')
    await press('Create join key', dialog())
    await dialog().getByRole('alert').getByText('Name: enter a text of at most 60 characters').waitFor()
    await press('Cancel')
  })

  it('shows what waits as the device states it, and approves and refuses many at once', async () => {
    const nodes = [await arrive('SN-1'), await arrive('<b>x</b>'), await arrive()]
    await open()
    await expect.poll(() => waiting().count()).toBe(3)
    const fingerprint = nodes[0]!.nodeId.slice(0, 16).replace(/(.{4})(?=.)/g, '$1-')
    await says(fingerprint)
    expect(await page.getByText('Stated', { exact: true }).count()).toBe(3)
    expect(await problems()).toEqual([])
    await takePictures(page, 'join-keys-waiting')
    await page.getByRole('checkbox', { name: 'Select all waiting devices' }).check()
    await page.getByRole('checkbox', { name: `Select ${fingerprint}` }).uncheck()
    await press('Approve')
    await says('2 devices approved. They join within minutes.')
    await expect.poll(() => waiting().count()).toBe(1)
    await page.getByRole('checkbox', { name: `Select ${fingerprint}` }).check()
    await press('Refuse')
    await press('Refuse', dialog())
    await says('1 device refused')
    await expect.poll(() => page.getByRole('heading', { name: 'Waiting' }).count()).toBe(0)
    const outcomes: unknown[] = []
    for (const node of nodes)
      outcomes.push(await joinAs(node, identity.url, { key }).then(({ join }) => join, String))
    expect(outcomes.slice(1)).toEqual(['joined', 'joined'])
    expect(outcomes[0]).toContain('an owner refused this device')
  })

  it('names devices of a selection that another owner decided about', async () => {
    await press('Create join key')
    await page.getByLabel('Each device waits').check()
    await press('Create join key', dialog())
    key = await textOf('Join key')
    await press('Done')
    await arrive('SN-9')
    await open()
    await page.getByRole('checkbox', { name: 'Select all waiting devices' }).check()
    const elsewhere = await person.context.newPage()
    await elsewhere.goto(`${origin()}/devices/join-keys`)
    await elsewhere.getByRole('checkbox', { name: 'Select all waiting devices' }).check()
    await elsewhere.getByRole('button', { name: 'Approve' }).click()
    await elsewhere.getByText('1 device approved. They join within minutes.').waitFor()
    await elsewhere.close()
    await press('Approve')
    await page.getByRole('heading', { name: '1 device not changed' }).waitFor()
    await press('Done')
  })

  it('has a rule for all keys, which applies at once', async () => {
    const rule = page.getByRole('checkbox', { name: 'Every device waits until an owner approves it' })
    await rule.click()
    await expect.poll(() => rule.isChecked()).toBe(true)
    await open()
    await expect.poll(() => rule.isChecked()).toBe(true)
  })

  it('revokes a key, and blocks its devices also afterwards', async () => {
    await press('Revoke Line 2')
    await press('Revoke', dialog())
    await says('The join key was revoked')
    await says('Revoked')
    await press('Block devices of Line 2')
    await dialog().getByRole('textbox').fill('Line 2')
    await press('Block devices', dialog())
    await says('2 devices blocked')
    expect(await problems()).toEqual([])
    await takePictures(page, 'join-keys')
  })
})
