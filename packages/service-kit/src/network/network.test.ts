import { expect, it } from 'vitest'
import { ConfigError } from '../config/index.ts'
import { type OpenNetwork, readNetwork } from './network.ts'

const config = {
  'network.proxy': 'http://proxy.example',
  'network.proxyAuthFile': '/auth',
  'network.noProxy': ['a.example'],
  'network.caFile': '/ca.pem',
  'network.clientCertificates': ['a.example=/a.pem'],
}

it('the network is opened with the settings', () => {
  const network = { status: () => ({}) } as unknown as ReturnType<OpenNetwork>
  let seen: unknown
  const open: OpenNetwork = (options) => {
    seen = options
    return network
  }
  expect(readNetwork(config, open)).toBe(network)
  expect(seen).toEqual({
    ...{ proxy: 'http://proxy.example', proxyAuthFile: '/auth', noProxy: ['a.example'], caFile: '/ca.pem' },
    clientCertificates: ['a.example=/a.pem'],
  })
})

it('a setting that cannot be used is an error of the configuration, and a defect is not', () => {
  const failing = (name: string) => () => {
    throw Object.assign(new Error('network.proxy is "x"'), { name })
  }
  expect(() => readNetwork(config, failing('NetworkSettingError'))).toThrow(ConfigError)
  expect(() => readNetwork(config, failing('NetworkSettingError'))).toThrow('network.proxy is "x"')
  expect(() => readNetwork(config, failing('TypeError'))).not.toThrow(ConfigError)
})
