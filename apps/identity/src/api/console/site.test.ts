import { expect, it } from 'vitest'
import { createSite } from './site.ts'

it('the URL of the console is parsed again only when it has changed', () => {
  let text = 'https://console.example'
  const site = createSite(() => text)
  const first = site()
  expect([first.hostname, site() === first]).toEqual(['console.example', true])
  text = 'https://other.example'
  expect(site().hostname).toBe('other.example')
})
