import { FIRST_PAGES } from '../../support/docs/pages.ts';
import { testPages } from './page.ts';

testPages(FIRST_PAGES);
