import { expect, it } from 'vitest'
import { grpcFields, isGrpc } from './grpc-refusal.ts'

it.each([
  [401, '16'],
  [403, '7'],
  [404, '12'],
  [502, '14'],
  [503, '14'],
  [418, '2'],
])('the status %i of HTTP is %s of gRPC', (status, code) => {
  expect(grpcFields(status, 'why')).toEqual({
    'Content-Type': 'application/grpc',
    'Grpc-Status': code,
    'Grpc-Message': 'why',
  })
})

it('a message is percent-encoded, and has at most 1000 characters', () => {
  expect(grpcFields(401, 'é 100%\r\nx')['Grpc-Message']).toBe('%C3%A9 100%25%0D%0Ax')
  expect(grpcFields(401, 'a'.repeat(2000))['Grpc-Message']).toHaveLength(1000)
})

it.each([
  ['application/grpc', true],
  ['application/grpc+proto', true],
  ['application/json', false],
  [undefined, false],
])('a request with the content type %s is a call of gRPC: %s', (type, is) => {
  expect(isGrpc({ headers: { 'content-type': type } })).toBe(is)
})
