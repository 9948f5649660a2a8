import { describe, expect, it } from 'vitest'
import { chooseName, expectNotOther } from './image-name.ts'

const nameOf = (given: string | undefined, file?: string, tags: string[] = []) =>
  chooseName({ given, file }, tags)

describe('the name of an image', () => {
  it.each([
    ['camera', 'camera'],
    ['registry.example:5000/team/Camera:1.0', 'camera'],
    ['camera@sha256:0', 'camera'],
    ['my camera!', 'my-camera-'],
    ['_.-camera', 'camera'],
    ['a.b_c-d9', 'a.b_c-d9'],
    ['ü', 'image'],
    ['', 'image'],
    ['team/', 'image'],
    [`${'x'.repeat(121)}`, 'x'.repeat(120)],
  ])('that the caller gives counts: %j is %s', (given, name) => {
    expect(nameOf(given, 'file.tar', ['tag:1'])).toEqual({ name, isFromFile: false })
  })

  it('is the first tag that is a name', () => {
    expect(nameOf(undefined, 'file.tar', ['ü:1', 'one:1', 'two:1'])).toEqual({
      name: 'one',
      isFromFile: false,
    })
  })

  it.each([
    ['camera.tar', 'camera'],
    ['camera.tar.gz', 'camera'],
    ['camera.TAR.ZST', 'camera'],
    ['camera.tgz', 'camera'],
    ['camera.oci', 'camera'],
    ['camera.v2.tar', 'camera.v2'],
    ['camera.zip', 'camera.zip'],
    ['/home/ada/camera.tar', 'camera'],
    ['C:\\ada\\lamp.tar', 'lamp'],
    ['tar', 'tar'],
    ['.tar', 'image'],
    ['', 'image'],
    [undefined, 'image'],
  ])('is otherwise that of its file: %s is %s', (file, name) => {
    expect(nameOf(undefined, file)).toEqual({ name, isFromFile: true })
    expect(nameOf(undefined, file, ['ü', '/'])).toEqual({ name, isFromFile: true })
  })
})

it('a name that follows from a file replaces no other image', () => {
  expect(() => expectNotOther('a', undefined, 'd')).not.toThrow()
  expect(() => expectNotOther('a', { digest: 'd' }, 'd')).not.toThrow()
  expect(() => expectNotOther('a', { digest: 'e' }, 'd')).toThrow(
    expect.objectContaining({
      reason: 'conflict',
      message: 'the archive has no name; by its file it would be "a", which is another image',
    }),
  )
})
