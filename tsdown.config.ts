import { defineConfig, type UserConfig } from 'tsdown'

/**
 * The bundler of declarations puts the doc comment of a member behind the one before it, where nobody finds it: each
 * goes on a line of its own, or the build fails.
 */
const docsOnTheirOwnLines = {
  name: 'docs-on-their-own-lines',
  generateBundle: {
    order: 'post' as const,
    handler(_options: unknown, bundle: Record<string, { type: string; fileName: string; code?: string }>): void {
      for (const file of Object.values(bundle)) {
        if (file.type !== 'chunk' || !file.fileName.endsWith('.d.ts') || file.code === undefined) continue
        file.code = file.code.replace(/(?<=[;{}]) (?=\/\*\*)/g, '\n  ').replace(/\*\/(?=readonly |[\w"'])/g, '*/\n  ')
      }
    },
  },
}

const shared = {
  format: 'esm',
  target: 'es2022',
  dts: true,
  plugins: [docsOnTheirOwnLines],
  sourcemap: true,
  clean: true,
  fixedExtension: false,
} satisfies UserConfig

export default defineConfig([
  {
    ...shared,
    entry: {
      index: 'src/index.ts',
      core: 'src/core.ts',
      format: 'src/format.ts',
      worker: 'src/worker.ts',
      'ai-sdk': 'src/ai-sdk.ts',
      views: 'src/views.ts',
      plugins: 'src/plugins.ts',
      react: 'src/react.ts',
      testing: 'src/testing.ts',
    },
    platform: 'browser',
  },
  // A program for Node, apart from what runs in a page: nothing of it gets into the chunks of the others.
  {
    ...shared,
    entry: { cli: 'src/cli.ts' },
    platform: 'node',
    outputOptions: { chunkFileNames: 'cli/[name]-[hash].js' },
  },
])
