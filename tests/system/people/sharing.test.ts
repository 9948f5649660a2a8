/** An owner shares services at the console, in Chromium, and the person who is let in calls them at the device. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { adminOf } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { findObstacles, findOverflow, openBrowser, type PersonAtBrowser } from '../../harness/person.ts'
import { type Sharing, startSharing } from '../../harness/sharing.ts'

describe('sharing at the console', needs('chromium-headless-shell'), () => {
  let world: Sharing
  let browser: PersonAtBrowser
  let site: string

  beforeAll(async () => {
    ;[world, browser] = [await startSharing(), await openBrowser()]
    const { email } = world.owner
    const { link } = await adminOf(world.services.stack.state)['account.link']({ email })
    const { page } = browser
    await page.goto(link)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('button', { name: 'Create passkey' }).click()
    await page.getByRole('heading', { name: 'Devices', level: 1 }).waitFor()
    site = new URL(page.url()).origin
  })
  afterAll(async () => {
    await browser?.close()
    await world?.stop()
  })

  const guestCalls = async (): Promise<number> => {
    const { body } = await world.signIn(world.guest)
    return (await world.call('van', body.access_token!)).status
  }

  /** @returns the row of the share */
  async function shareVan(who: string) {
    const { page } = browser
    await page.goto(`${site}/devices/${world.nodeId}/sharing`)
    await page.getByRole('button', { name: 'Share a service' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Service').selectOption('van')
    await dialog.getByLabel('With').fill(who)
    expect(await findObstacles(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Share service' }).click()
    return { dialog, stop: page.getByRole('button', { name: /^Stop sharing van with/ }) }
  }

  it('keeps what was typed when the account does not know the person', async () => {
    const { dialog } = await shareVan('missing@example.com')
    await dialog.getByText('the account knows no such person').waitFor()
    expect(await dialog.getByLabel('With').inputValue()).toBe('missing@example.com')
  })

  it('lets a person in until a day, and no longer than the owner wants', async () => {
    await expect(guestCalls()).rejects.toThrow()
    const { stop } = await shareVan(world.guest.personId)
    await stop.waitFor()
    expect(await guestCalls()).toBe(200)
    await stop.click()
    await stop.waitFor({ state: 'detached' })
    await expect(guestCalls()).rejects.toThrow()
  })

  it('shares with a group, and ends that with the group', async () => {
    const { page } = browser
    await page.goto(`${site}/people`)
    await page.getByRole('button', { name: 'New group' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Drivers!')
    await page.getByRole('button', { name: 'Create group' }).click()
    await page
      .getByRole('dialog')
      .getByText(/lower-case letters/i)
      .last()
      .waitFor()
    await page.getByLabel('Name', { exact: true }).fill('drivers')
    await page.getByRole('button', { name: 'Create group' }).click()
    await page.getByRole('button', { name: 'Add a person' }).click()
    await page.getByRole('textbox', { name: 'Person' }).fill(world.guest.personId)
    expect(await findObstacles(page)).toEqual([])
    await page.getByRole('button', { name: 'Add person' }).click()
    await page.getByRole('button', { name: /^Remove .* from drivers$/ }).waitFor()
    for (const width of [320, 1280]) {
      await page.setViewportSize({ width, height: 900 })
      expect(await page.evaluate(findOverflow)).toEqual([])
    }
    const { stop } = await shareVan('drivers')
    await stop.waitFor()
    expect(await guestCalls()).toBe(200)
    await page.goto(`${site}/people`)
    await page.getByRole('button', { name: 'Delete group' }).click()
    await page.getByText('Everything that is shared with the group ends.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete group' }).click()
    await page.getByRole('button', { name: 'Add a person' }).waitFor({ state: 'detached' })
    await expect(guestCalls()).rejects.toThrow()
  })
})
