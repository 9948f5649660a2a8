declare module '*?url' {
  const url: string
  export default url
}

declare module '*.css'

declare module 'virtual:outlines' {
  /** URL of the file that `build/outlines.ts` writes. */
  const url: string
  export default url
}
