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
    expect(nameOf(given, 'file.tar', ['tag:1'])).toEqual({ name, from: 'caller' })
  })

  it('is the first tag that is a name', () => {
    expect(nameOf(undefined, 'file.tar', ['ü:1', 'one:1', 'two:1'])).toEqual({ name: 'one', from: 'tag' })
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
    expect(nameOf(undefined, file)).toEqual({ name, from: 'file' })
    expect(nameOf(undefined, file, ['ü', '/'])).toEqual({ name, from: 'file' })
  })
})

describe('a name that the caller did not give', () => {
  const image = (digest: string, ...repoTags: string[]) => ({ digest, repoTags })

  it.each([
    ['nothing', undefined],
    ['the same content', image('d', 'bob/web:1')],
  ])('is free with %s on the device', (_, existing) => {
    for (const from of ['file', 'tag'] as const)
      expect(() => expectNotOther({ name: 'web', from }, existing, image('d', 'ada/web:1'))).not.toThrow()
  })

  it('replaces no other image, from a file', () => {
    expect(() => expectNotOther({ name: 'a', from: 'file' }, image('e'), image('d'))).toThrow(
      expect.objectContaining({
        reason: 'conflict',
        message: 'the archive has no name; by its file it would be "a", which is another image',
      }),
    )
  })

  it('replaces no image of another repository, from a tag', () => {
    const tag = { name: 'web', from: 'tag' } as const
    const deploy = (existing: string[], ...own: string[]) =>
      expectNotOther(tag, image('d', ...existing), image('e', ...own))
    expect(() => deploy(['quay.io:443/bob/web:1'], 'ü:1', 'ada/web@sha256:0')).toThrow(
      expect.objectContaining({
        reason: 'conflict',
        message: 'the image "web" of this device is "quay.io:443/bob/web", and this one is "ada/web"',
      }),
    )
    expect(() => deploy(['localhost:5000/web:1'], 'web:1')).toThrow('is "localhost:5000/web"')
    for (const [one, other] of [
      ['ada/web:1', 'ada/web:2'],
      ['docker.io/library/web', 'web:2'],
      ['localhost/web:1', 'web'],
      ['localhost:5000/web:1', 'localhost:5000/web@sha256:0'],
      ['docker.io/ada/web:1', 'ada/web:1'],
    ] as const)
      expect(() => deploy([one], other)).not.toThrow()
    expect(() => deploy([], 'ada/web:1')).not.toThrow()
  })
})

it('a name that the caller gives replaces whatever has it', () => {
  const given = { name: 'web', from: 'caller' } as const
  const [one, other] = ['ada', 'bob'].map((each) => ({ digest: each, repoTags: [`${each}/web:1`] }))
  expect(() => expectNotOther(given, one, other!)).not.toThrow()
})
