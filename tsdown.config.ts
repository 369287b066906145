import { defineConfig } from 'tsdown'

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    core: 'src/core.ts',
    worker: 'src/worker.ts',
    'ai-sdk': 'src/ai-sdk.ts',
    views: 'src/views.ts',
    plugins: 'src/plugins.ts',
    react: 'src/react.ts',
    testing: 'src/testing.ts',
  },
  format: 'esm',
  platform: 'browser',
  target: 'es2022',
  dts: true,
  sourcemap: true,
  clean: true,
  fixedExtension: false,
})
