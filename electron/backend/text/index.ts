export { StreamingDetokenizer } from './detokenizer';
export { commonPrefix } from './loss-mask';
export {
  ModelText,
  type ChatOptions,
  type EncodedChat,
  type EncodedExample,
  type EncodedPrompt,
  type TextExample,
} from './model-text';
export { ChatTemplate, type ChatMessage, type RenderOptions } from './template/chat-template';
export { Renderer } from './template/renderer';
export type { TextSource } from './tokenizer';
export { folderSource } from './folder-source';
export { ggufSource } from './gguf-source';
export { ggufText } from './gguf-text';
export { copyTextFiles, writeTextFiles } from './write-text';
