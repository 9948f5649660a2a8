/** Clients that are made with the wrong thing fail at once, with what was expected. */
import { describe, expect, it } from 'vitest'
import { createDiscoveryClient, createIdentityClient, createRuntimeClient } from './index.ts'

const makers = { createRuntimeClient, createIdentityClient, createDiscoveryClient }

describe.each(Object.entries(makers))('%s', (_, make) => {
  it.each([
    [{}, 'is undefined'],
    [undefined, 'is undefined'],
    ['http://127.0.0.1:8083', 'is undefined'],
    [{ url: 8083 }, 'is 8083'],
    [{ url: '' }, 'is ""'],
    [{ url: '127.0.0.1:8083' }, 'is "127.0.0.1:8083"'],
    [{ url: 'ftp://127.0.0.1' }, 'is "ftp://127.0.0.1"'],
  ])('refuses %j', (connection, text) => {
    expect(() => make(connection as never)).toThrow(
      `the url of the connection ${text}; expected the URL of the service, such as { url: 'http://127.0.0.1:8083' }`,
    )
  })

  it('accepts a URL', () => {
    expect(() => make({ url: 'https://id.example.com' })).not.toThrow()
  })
})

it('the URL of a runtime may be found at the first call', () => {
  const later = {
    get url(): string {
      throw new Error('found too early')
    },
  }
  expect(() => createRuntimeClient(later)).not.toThrow()
})
