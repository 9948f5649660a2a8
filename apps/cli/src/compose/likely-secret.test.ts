import { expect, it } from 'vitest'
import { isLikelySecret } from './likely-secret.ts'

const isSecret = (path: string, content = '') => isLikelySecret(path, Buffer.from(content))

it.each([
  '.env',
  'conf/.env.production',
  'conf/.git/config',
  'home/.ssh/known_hosts',
  'id_ed25519',
  'tls/server.key',
  'TLS/SERVER.KEY',
  '.npmrc',
  'aws/credentials',
  'terraform.tfstate',
])('%j may be a secret', (path) => {
  expect(isSecret(path)).toBe(true)
})

it.each([
  '.env.example',
  'conf/nginx.conf',
  'server.pem',
  'id_rsa.pub',
  '.gitignore',
  'environment',
  'key.json',
])('%j is not', (path) => {
  expect(isSecret(path, '-----BEGIN PUBLIC KEY-----')).toBe(false)
})

it.each(['', 'RSA ', 'EC ', 'OPENSSH ', 'ENCRYPTED '])('a private key is one under any name: %j', (kind) => {
  expect(isSecret('server.pem', `-----BEGIN CERTIFICATE-----\n-----BEGIN ${kind}PRIVATE KEY-----`)).toBe(true)
})
