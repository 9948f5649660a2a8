/** The first person at a browser: the owner's link, and the sign-in method that they choose. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../harness/installed.ts'
import { openBrowser, type PersonAtBrowser } from '../../harness/person.ts'
import { freePorts, type Program, startProgram, temporaryFolder } from '../../harness/processes.ts'

/** It ends with a space, which is a part of it. */
const password = 'three quiet herons at dusk '

describe('the first owner at a browser', needs('chromium-headless-shell'), () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let identity: Program
  let person: PersonAtBrowser
  const start = (port = {}) =>
    startProgram('identity', { SELVEDGE_STATE: folder.path, ...freePorts, ...port })
  beforeAll(async () => {
    folder = await temporaryFolder()
    identity = await start()
    person = await openBrowser()
  })
  afterAll(async () => {
    await person?.close()
    await identity?.stop()
    await folder?.remove()
  })

  it('opens a second link after the first was left, changes from passkey to password, and signs in with it', async () => {
    const { page } = person
    await page.goto(identity.ready.setup!)
    await page.getByLabel('Your email').fill('ada@example.com')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByLabel('Passkey name').waitFor()
    // Closed too early; the next start prints another link.
    const port = new URL(identity.url).port
    await identity.stop()
    identity = await start({ SELVEDGE_IDENTITY_PORT: port })
    await page.goto('about:blank')
    await page.goto(identity.ready.setup!)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByLabel('Passkey name').fill('my laptop')
    await page.getByRole('button', { name: 'Use a password instead' }).click()
    const field = page.getByLabel('Password')
    expect(await field.inputValue()).toBe('')
    await field.pressSequentially(password)
    expect(await field.inputValue()).toBe(password)
    await page.getByRole('button', { name: 'Create password' }).click()
    await page.getByRole('heading', { name: 'Devices', level: 1 }).waitFor()

    await page.locator('summary', { hasText: 'ada@example.com' }).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Email').fill('ada@example.com')
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('heading', { name: 'Devices', level: 1 }).waitFor()
  })
})
