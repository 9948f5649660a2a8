import { expect, it } from 'vitest'
import { UsageError } from '../failure.ts'
import { createOwnNetwork } from './network.ts'

it('the proxy of the environment is used, except for this machine and NO_PROXY', () => {
  const network = createOwnNetwork({ HTTP_PROXY: 'http://proxy.example', NO_PROXY: 'b.example' })
  const proxied = network.agentFor('http://a.example', 'service')
  expect(network.agentFor('http://c.example', 'service')).toBe(proxied)
  expect(network.agentFor('http://b.example', 'service')).not.toBe(proxied)
  expect(network.agentFor('http://127.0.0.1:8083', 'service')).not.toBe(proxied)
})

it('a variable that cannot be used is an error with its name, at the first request', () => {
  const network = createOwnNetwork({ HTTPS_PROXY: 'socks5://proxy.example' })
  const use = () => network.agentFor('https://a.example', 'service')
  expect(use).toThrow(UsageError)
  expect(use).toThrow('the environment variable HTTPS_PROXY')
})
