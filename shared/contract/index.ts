import { algorithms } from './algorithms';
import { chat } from './chat';
import { datasets } from './datasets';
import { models } from './models';
import { rewards } from './rewards';
import { runs } from './runs';
import { system } from './system';

/** The whole wire: every verb a host's page can ask of the backend. */
export const contract = { algorithms, runs, models, datasets, rewards, chat, system };
export type AtelierContract = typeof contract;
